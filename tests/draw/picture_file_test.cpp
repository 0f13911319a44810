// Pictures are read back with the libraries' own decoders.
#include "draw/picture_file.hpp"

#include <gif_lib.h>
#include <gtest/gtest.h>
#include <png.h>

#include <filesystem>
#include <vector>

#include <hotloop/error.hpp>

namespace hotloop {
namespace {

Picture checkers(int width, int height, std::uint8_t shade) {
  Picture picture{width, height, {}};
  for (int i = 0; i < width * height; ++i) {
    const std::uint8_t value = (i + i / width) % 2 == 0 ? shade : 7;
    for (const int part : {int{value}, i, 90}) {
      picture.rgb.push_back(static_cast<std::uint8_t>(part));
    }
  }
  return picture;
}

TEST(PictureFile, PngHoldsEveryCellAsASquare) {
  const Picture picture = checkers(5, 3, 200);
  const std::string path = testing::TempDir() + "board.png";
  write_png(path, picture, 4);
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  ASSERT_NE(png_image_begin_read_from_file(&image, path.c_str()), 0);
  ASSERT_EQ(image.width, 20u);
  ASSERT_EQ(image.height, 12u);
  image.format = PNG_FORMAT_RGB;
  std::vector<std::uint8_t> rgb(PNG_IMAGE_SIZE(image));
  ASSERT_NE(png_image_finish_read(&image, nullptr, rgb.data(), 0, nullptr), 0);
  for (int y = 0; y < 12; ++y) {
    for (int x = 0; x < 20; ++x) {
      for (int c = 0; c < 3; ++c) {
        ASSERT_EQ(rgb[(y * 20 + x) * 3 + c], picture.rgb[(y / 4 * 5 + x / 4) * 3 + c]);
      }
    }
  }
}

TEST(PictureFile, GifHoldsEveryFrame) {
  std::vector<Picture> pictures = {checkers(6, 4, 10), checkers(6, 4, 20), checkers(6, 4, 20),
                                   checkers(6, 4, 20)};
  pictures[2].rgb[(2 * 6 + 4) * 3] += 5;  // one pixel changes, and then none
  pictures[3] = pictures[2];
  const int frames = static_cast<int>(pictures.size());
  const std::string path = testing::TempDir() + "game.gif";
  write_gif(path, pictures, 3, 10);
  int error = 0;
  GifFileType* file = DGifOpenFileName(path.c_str(), &error);
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(DGifSlurp(file), GIF_OK);
  ASSERT_EQ(file->ImageCount, frames);
  EXPECT_EQ(file->SavedImages[2].ImageDesc.Width, 3) << "a pixel, three times as large";
  ASSERT_EQ(file->SWidth, 18);
  ASSERT_EQ(file->SHeight, 12);
  std::vector<int> shown(18 * 12);  // frames after the first hold only changes
  for (int frame = 0; frame < frames; ++frame) {
    GraphicsControlBlock control;
    ASSERT_EQ(DGifSavedExtensionToGCB(file, frame, &control), GIF_OK);
    EXPECT_EQ(control.DelayTime, frame + 1 == frames ? 100 : 10);
    const SavedImage& image = file->SavedImages[frame];
    const GifImageDesc& part = image.ImageDesc;
    for (int i = 0; i < part.Width * part.Height; ++i) {
      const int x = part.Left + i % part.Width, y = part.Top + i / part.Width;
      shown[y * 18 + x] = image.RasterBits[i];
    }
    for (int i = 0; i < 18 * 12; ++i) {
      const GifColorType colour = file->SColorMap->Colors[shown[i]];
      const std::size_t at = (i / 18 / 3 * 6 + i % 18 / 3) * 3;
      ASSERT_EQ(colour.Red, pictures[frame].rgb[at]);
      ASSERT_EQ(colour.Green, pictures[frame].rgb[at + 1]);
      ASSERT_EQ(colour.Blue, pictures[frame].rgb[at + 2]);
    }
  }
  DGifCloseFile(file, &error);
}

TEST(PictureFile, TooManyColoursAndBadPathsAreErrors) {
  EXPECT_THROW(write_gif(testing::TempDir() + "x.gif", std::vector{checkers(20, 20, 1)}, 1, 10),
               RunError);
  EXPECT_FALSE(std::filesystem::exists(testing::TempDir() + "x.gif"));
  EXPECT_THROW(write_png("/nonexistent/folder/x.png", checkers(2, 2, 1), 1), RunError);
}

}  // namespace
}  // namespace hotloop
