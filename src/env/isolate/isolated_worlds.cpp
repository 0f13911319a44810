#include "env/isolate/isolated_worlds.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include <hotloop/error.hpp>

#include "env/claims.hpp"
#include "env/isolate/host.hpp"

namespace hotloop {
namespace {

// A piece of a host's memory, given back in the end.
class Borrowed {
 public:
  Borrowed(Host& host, std::size_t bytes) : host_(host), piece_(host.share(bytes)) {}
  ~Borrowed() { host_.give_back(piece_); }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;

  std::byte* at() const { return piece_.at; }
  std::uint64_t offset() const { return piece_.offset; }

 private:
  Host& host_;
  Host::Piece piece_;
};

// The other process may write anything at any time: what it answers is copied, then checked.
//
// Whenever the state of a row changes, the host also shows the row in the shared memory. So a vector
// step takes one exchange, and observations are only copied.
class IsolatedArray final : public WorldArray {
 public:
  // The spec must outlive every copy of it, like the strings of any entry.
  IsolatedArray(std::shared_ptr<Host> host, const EnvSpec& spec_of_entry, int count, bool plain)
      : host_(std::move(host)), spec_(spec_of_entry) {
    Request make{.command = HostCommand::make, .plain = plain, .count = count};
    host_->call(make, [this](const Answer& answer) {
      worlds_ = answer.worlds;
      has_mask_ = answer.has_mask != 0 && spec().actions > 0;
      checks_state_ = answer.checks_state != 0;
      row_bytes_ = answer.row_bytes;
    });
    if (row_bytes_ > kMaxRowBytes) {
      throw RunError(fmt::format("environment {}: row_bytes is {}; allowed: 0 to {}", spec().name,
                                 row_bytes_, kMaxRowBytes));
    }
    memory_.emplace(*host_, rows_.place(nullptr, spec(), count, has_mask_, row_bytes_));
    rows_.place(memory_->at(), spec(), count, has_mask_, row_bytes_);
    Request attach = about(HostCommand::attach);
    attach.offset = memory_->offset();
    host_->call(attach);
  }
  ~IsolatedArray() override {
    try {
      host_->call(about(HostCommand::destroy));
    } catch (...) {  // the process is gone
    }
  }

  const EnvSpec& spec() const override { return spec_; }
  bool has_mask() const override { return has_mask_; }
  void clear() override { host_->call(about(HostCommand::clear)); }

  void reset(int row, Rng& rng) override {
    Request request = about(HostCommand::reset, row);
    request.stream = rng.state();
    host_->call(request, [&](const Answer& answer) { request.stream.draws = answer.draws; });
    rng = Rng(request.stream);
  }

  void step(int begin, int end, const ActionRows& actions, std::uint64_t seed, Purpose purpose,
            std::uint64_t step, std::span<float> rewards,
            std::span<std::uint8_t> terminated) override {
    copy<const std::int32_t>(actions.discrete, rows_.discrete, begin, end, 1);
    copy<const float>(actions.continuous, rows_.continuous, begin, end, spec().action_size);
    Request request = about(HostCommand::step, begin, end);
    request.stream.seed = seed;
    request.stream.purpose = purpose;
    request.stream.step = step;
    host_->call(request);
    copy(rows_.rewards, rewards, begin, end, 1);
    copy_flags(rows_.terminated, terminated, begin, end, 1);
  }

  void observe(int begin, int end, std::span<float> obs) const override {
    copy(rows_.obs, obs, begin, end, spec().obs);
  }
  void mask(int begin, int end, std::span<std::uint8_t> allowed) const override {
    copy_flags(rows_.mask, allowed, begin, end, spec().actions);
  }
  void reward_parts(int begin, int end, std::span<float> parts) const override {
    copy(rows_.reward_parts, parts, begin, end, spec().reward_part_count());
  }
  void measure(int row, std::span<float> values) const override {
    if (rows_.measures.empty()) return;
    host_->call(about(HostCommand::measure, row));
    const auto width = static_cast<std::size_t>(spec().measure_count());
    std::ranges::copy(rows_of(rows_.measures, row, row + 1, width), values.begin());
  }

  Picture picture(int row) const override {
    static std::mutex mutex;  // the picture is fetched in a second exchange
    const std::lock_guard lock(mutex);
    Picture drawn;
    host_->call(about(HostCommand::picture, row), [&](const Answer& answer) {
      drawn.width = answer.width;
      drawn.height = answer.height;
    });
    if (drawn.width <= 0 || drawn.height <= 0) return {};
    if (drawn.width > kMaxPictureSide || drawn.height > kMaxPictureSide) {
      throw RunError(fmt::format("environment {}: a picture of {} x {} pixels; at most {} x {}",
                                 spec().name, drawn.width, drawn.height, kMaxPictureSide,
                                 kMaxPictureSide));
    }
    drawn.rgb.resize(static_cast<std::size_t>(drawn.width) * drawn.height * 3);
    const Borrowed memory(*host_, drawn.rgb.size());
    Request fetch = about(HostCommand::fetch, row);
    fetch.offset = memory.offset();
    host_->call(fetch);
    std::memcpy(drawn.rgb.data(), memory.at(), drawn.rgb.size());
    return drawn;
  }

  std::size_t row_bytes() const override { return row_bytes_; }
  void save_row(int row, std::byte* to) const override {
    host_->call(about(HostCommand::save, row));
    std::ranges::copy(rows_of(rows_.states, row, row + 1, row_bytes_), to);
  }
  bool restore_row(int row, const std::byte* from) override {
    std::copy_n(from, row_bytes_, rows_of(rows_.states, row, row + 1, row_bytes_).begin());
    bool is_valid = false;
    host_->call(about(HostCommand::restore, row),
                [&](const Answer& answer) { is_valid = answer.is_valid != 0; });
    return is_valid;
  }
  bool checks_state() const override { return checks_state_; }
  void check_rows(std::span<const float>, std::span<const std::uint8_t>) const override {
    host_->call(about(HostCommand::check));
  }

 private:
  Request about(HostCommand command, int begin = 0, int end = 0) const {
    return {.command = command, .worlds = worlds_, .begin = begin, .end = end};
  }
  template <class From, class To>
  static void copy(std::span<From> from, std::span<To> to, int begin, int end, int width) {
    if (from.empty()) return;
    const auto w = static_cast<std::size_t>(width);
    std::ranges::copy(rows_of(from, begin, end, w), rows_of(to, begin, end, w).begin());
  }
  static void copy_flags(std::span<std::uint8_t> from, std::span<std::uint8_t> to, int begin,
                         int end, int width) {
    if (from.empty()) return;
    const auto w = static_cast<std::size_t>(width);
    std::ranges::transform(rows_of(from, begin, end, w), rows_of(to, begin, end, w).begin(),
                           [](std::uint8_t flag) { return std::uint8_t{flag != 0}; });
  }

  std::shared_ptr<Host> host_;
  const EnvSpec& spec_;
  void* worlds_ = nullptr;  // the host's
  bool has_mask_ = false, checks_state_ = false;
  std::size_t row_bytes_ = 0;
  std::optional<Borrowed> memory_;
  SharedRows rows_;
};

// Starts the process when the first array is made, and again if it is gone.
struct HostSource {
  std::function<EnvEntry()> load;
  std::string shown;
  Isolation options;
  EnvSpec spec{};
  std::string texts{};
  std::mutex mutex{};
  std::weak_ptr<Host> latest{};

  std::shared_ptr<Host> get() {
    const std::lock_guard lock(mutex);
    std::shared_ptr<Host> host = latest.lock();
    if (host == nullptr || !host->is_alive()) {
      host = std::make_shared<Host>(load, shown, options);
      latest = host;
    }
    return host;
  }
};

}  // namespace

EnvEntry isolated_entry(std::function<EnvEntry()> load, const std::string& shown,
                        const Isolation& options) {
  auto* source = new HostSource{std::move(load), shown, options};  // entries are never removed
  const std::shared_ptr<Host> host = source->get();
  source->spec = host->spec();
  for_each_text(source->spec, [&](std::string_view text) { source->texts += text; });
  std::size_t at = 0;
  for_each_text(source->spec, [&](std::string_view& text) {
    text = std::string_view(source->texts).substr(at, text.size());
    at += text.size();
  });
  const auto maker = [source](bool plain) {
    return [source, plain](int count, std::span<const double>) -> std::unique_ptr<WorldArray> {
      return std::make_unique<IsolatedArray>(source->get(), source->spec, count, plain);
    };
  };
  return {&source->spec, maker(false), maker(true), {}};
}

}  // namespace hotloop
