#include "draw/picture_file.hpp"

#include <fmt/format.h>
#include <gif_lib.h>
#include <png.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include <hotloop/error.hpp>

#include "core/file.hpp"

namespace hotloop {
namespace {

std::vector<std::uint8_t> scaled(const Picture& picture, int scale) {
  const int width = picture.width * scale;
  const int height = picture.height * scale;
  std::vector<std::uint8_t> rgb;
  rgb.reserve(static_cast<std::size_t>(width) * height * 3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const std::size_t at = (static_cast<std::size_t>(y / scale) * picture.width + x / scale) * 3;
      rgb.insert(rgb.end(), &picture.rgb[at], &picture.rgb[at] + 3);
    }
  }
  return rgb;
}

// Maps the colours of an animation to indices.
class Palette {
 public:
  std::uint8_t index(const std::uint8_t* rgb) {
    const GifColorType colour{rgb[0], rgb[1], rgb[2]};
    const auto known = std::find_if(colours_.begin(), colours_.begin() + count_, [&](auto& c) {
      return c.Red == colour.Red && c.Green == colour.Green && c.Blue == colour.Blue;
    });
    if (known == colours_.begin() + count_) {
      if (count_ == static_cast<int>(colours_.size())) {
        throw RunError("a GIF has at most 256 colours, these pictures have more");
      }
      colours_[count_++] = colour;
    }
    return static_cast<std::uint8_t>(known - colours_.begin());
  }
  const std::array<GifColorType, 256>& colours() const { return colours_; }

 private:
  std::array<GifColorType, 256> colours_{};
  int count_ = 0;
};

// The rectangle in which a frame differs from the previous one, at least one pixel.
struct Part {
  int left, top, width, height;
};

Part changed_part(const std::vector<std::uint8_t>& before, const std::vector<std::uint8_t>& now,
                  int width) {
  const int height = static_cast<int>(now.size()) / width;
  int left = width, right = 0, top = height, bottom = 0;
  for (int y = 0; y < height; ++y) {
    const auto row = now.begin() + static_cast<std::ptrdiff_t>(y) * width;
    const auto row_before = before.begin() + static_cast<std::ptrdiff_t>(y) * width;
    for (int x = 0; x < width; ++x) {
      if (row[x] == row_before[x]) continue;
      left = std::min(left, x);
      right = std::max(right, x + 1);
      top = std::min(top, y);
      bottom = y + 1;
    }
  }
  if (bottom == 0) return {0, 0, 1, 1};
  return {left, top, right - left, bottom - top};
}

void check(bool good, const std::string& path, int error) {
  if (good) return;
  const char* text = GifErrorString(error);
  throw RunError(fmt::format("cannot write '{}': {}", path, text == nullptr ? "GIF error" : text));
}

int append(GifFileType* file, const GifByteType* bytes, int count) {
  static_cast<std::string*>(file->UserData)->append(reinterpret_cast<const char*>(bytes), count);
  return count;
}

}  // namespace

void write_png(const std::string& path, const Picture& picture, int scale) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(picture.width * scale);
  image.height = static_cast<png_uint_32>(picture.height * scale);
  image.format = PNG_FORMAT_RGB;
  const std::vector<std::uint8_t> rgb = scaled(picture, scale);
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string bytes(size, '\0');
  if (png_image_write_to_memory(&image, bytes.data(), &size, 0, rgb.data(), 0, nullptr) == 0) {
    throw RunError(fmt::format("cannot write '{}': {}", path, image.message));
  }
  bytes.resize(size);
  write_file_atomically(path, bytes);
}

void write_gif(const std::string& path, std::span<const Picture> pictures, int scale,
               int frames_per_second) {
  const int columns = pictures[0].width;
  const int width = columns * scale;
  const int height = pictures[0].height * scale;
  Palette palette;
  std::vector<std::vector<std::uint8_t>> frames;  // palette indices, not yet scaled
  for (const Picture& picture : pictures) {
    std::vector<std::uint8_t>& frame = frames.emplace_back(picture.rgb.size() / 3);
    for (std::size_t i = 0; i < frame.size(); ++i) frame[i] = palette.index(&picture.rgb[3 * i]);
  }

  std::string bytes;
  int error = 0;
  const auto close = [](GifFileType* opened) { EGifCloseFile(opened, nullptr); };
  std::unique_ptr<GifFileType, decltype(close)> owner(EGifOpen(&bytes, append, &error), close);
  GifFileType* file = owner.get();
  check(file != nullptr, path, error);
  const auto done = [&](int code) { check(code == GIF_OK, path, file->Error); };
  const std::unique_ptr<ColorMapObject, void (*)(ColorMapObject*)> colours(
      GifMakeMapObject(256, palette.colours().data()), GifFreeMapObject);
  EGifSetGifVersion(file, true);
  done(EGifPutScreenDesc(file, width, height, 8, 0, colours.get()));
  // The extension that makes viewers loop the animation forever.
  const std::array<std::uint8_t, 3> loop_forever = {1, 0, 0};
  done(EGifPutExtensionLeader(file, APPLICATION_EXT_FUNC_CODE));
  done(EGifPutExtensionBlock(file, 11, "NETSCAPE2.0"));
  done(EGifPutExtensionBlock(file, loop_forever.size(), loop_forever.data()));
  done(EGifPutExtensionTrailer(file));
  std::vector<std::uint8_t> line(width);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const GraphicsControlBlock control{
        .DisposalMode = DISPOSE_DO_NOT,
        .UserInputFlag = false,
        .DelayTime = i + 1 == frames.size() ? 100 : std::max(2, 100 / frames_per_second),
        .TransparentColor = NO_TRANSPARENT_COLOR};
    std::array<GifByteType, 4> packed;
    EGifGCBToExtension(&control, packed.data());
    done(EGifPutExtension(file, GRAPHICS_EXT_FUNC_CODE, packed.size(), packed.data()));
    const Part part = i == 0 ? Part{0, 0, columns, pictures[0].height}
                             : changed_part(frames[i - 1], frames[i], columns);
    done(EGifPutImageDesc(file, part.left * scale, part.top * scale, part.width * scale,
                          part.height * scale, false, nullptr));
    for (int y = part.top; y < part.top + part.height; ++y) {
      const std::uint8_t* row = &frames[i][static_cast<std::size_t>(y) * columns + part.left];
      for (int x = 0; x < part.width; ++x) {
        std::fill_n(line.begin() + static_cast<std::ptrdiff_t>(x) * scale, scale, row[x]);
      }
      for (int again = 0; again < scale; ++again)
        done(EGifPutLine(file, line.data(), part.width * scale));
    }
  }
  check(EGifCloseFile(owner.release(), &error) == GIF_OK, path, error);
  write_file_atomically(path, bytes);
}

}  // namespace hotloop
