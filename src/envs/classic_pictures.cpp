// Pictures of CartPole, Acrobot, the mountain cars and Pendulum: 200 x 130 pixels each.
#include <cmath>

#include "env/canvas.hpp"
#include "envs/acrobot.hpp"
#include "envs/cartpole.hpp"
#include "envs/mountaincar.hpp"
#include "envs/mountaincar_continuous.hpp"
#include "envs/pendulum.hpp"

namespace hotloop {
namespace {

constexpr int kWidth = 200, kHeight = 130;

// The end of a stick that starts at `from`. The angle turns anticlockwise from straight down.
Point end_of_stick(Point from, double angle, double length) {
  return {from.x + length * std::sin(angle), from.y + length * std::cos(angle)};
}

// The valley sin(3 x) between x = -1.2 and 0.6, with the car and a flag at the goal.
Picture mountain_picture(double position, double goal) {
  constexpr double kLeft = -1.2, kRight = 0.6;
  const auto place = [](double x) {
    return Point{(x - kLeft) / (kRight - kLeft) * kWidth, 74 - 42 * std::sin(3 * x)};
  };
  Canvas canvas(kWidth, kHeight);
  std::vector<Point> ground = {{0, kHeight}};
  constexpr int kSides = 100;
  for (int i = 0; i <= kSides; ++i) {
    ground.push_back(place(kLeft + (kRight - kLeft) * i / kSides));
  }
  ground.push_back({kWidth, kHeight});
  canvas.polygon(ground, kFaint);

  const Point foot = place(goal);
  canvas.line(foot, {foot.x, foot.y - 24}, 2, kInk);
  const std::array<Point, 3> flag = {
      Point{foot.x + 1, foot.y - 25}, {foot.x + 14, foot.y - 20}, {foot.x + 1, foot.y - 15}};
  canvas.polygon(flag, kAim);

  // The car is perpendicular to the ground: `along` points to its front, `up` to its roof.
  const Point at = place(position);
  const Point ahead = place(position + 0.01);
  const double length = std::hypot(ahead.x - at.x, ahead.y - at.y);
  const Point along = {(ahead.x - at.x) / length, (ahead.y - at.y) / length};
  const Point up = {along.y, -along.x};
  const auto from_car = [&](double front, double roof) {
    return Point{at.x + front * along.x + roof * up.x, at.y + front * along.y + roof * up.y};
  };
  const std::array<Point, 4> body = {from_car(-10, 4), from_car(10, 4), from_car(7, 12),
                                     from_car(-8, 12)};
  canvas.polygon(body, kCool);
  canvas.disc(from_car(-6, 3.5), 3.5, kInk);
  canvas.disc(from_car(6, 3.5), 3.5, kInk);
  return std::move(canvas).take();
}

}  // namespace

Picture CartPole::picture() const {
  constexpr double kScale = kWidth / (2 * kMaxX), kTrack = 100;
  Canvas canvas(kWidth, kHeight);
  canvas.line({0, kTrack}, {kWidth, kTrack}, 2, kFaint);
  const double middle = kWidth / 2.0 + x * kScale;
  canvas.box({middle - 16, kTrack - 9}, {middle + 16, kTrack + 9}, kInk);
  const Point axle = {middle, kTrack - 9};
  // theta turns clockwise from upright.
  const Point tip = end_of_stick(axle, std::numbers::pi - theta, 2 * kHalfLength * 76);
  canvas.line(axle, tip, 6, kWarm);
  canvas.disc(axle, 3, kCool);
  return std::move(canvas).take();
}

template <class Maths>
Picture AcrobotBy<Maths>::picture() const {
  constexpr double kScale = 29;
  const Point bar = {kWidth / 2.0, kHeight / 2.0};
  Canvas canvas(kWidth, kHeight);
  canvas.line({0, bar.y - kScale}, {kWidth, bar.y - kScale}, 1, kAim);  // where the tip should go
  const Point joint = end_of_stick(bar, theta1, kScale);
  const Point tip = end_of_stick(joint, theta1 + theta2, kScale);
  canvas.line(bar, joint, 6, kCool);
  canvas.line(joint, tip, 6, kWarm);
  canvas.disc(bar, 4, kInk);
  canvas.disc(joint, 4, kInk);
  return std::move(canvas).take();
}

template Picture AcrobotBy<EngineMaths>::picture() const;
template Picture AcrobotBy<LibraryMaths>::picture() const;

Picture MountainCar::picture() const { return mountain_picture(position, kGoal); }

Picture MountainCarContinuous::picture() const { return mountain_picture(position, kGoal); }

Picture Pendulum::picture() const {
  const Point pivot = {kWidth / 2.0, kHeight / 2.0};
  Canvas canvas(kWidth, kHeight);
  canvas.line({pivot.x, 0}, {pivot.x, pivot.y}, 1, kAim);  // upright
  // `angle` turns anticlockwise from upright.
  const Point tip = end_of_stick(pivot, std::numbers::pi + angle, 54);
  canvas.line(pivot, tip, 9, kWarm);
  canvas.disc(pivot, 4, kInk);
  return std::move(canvas).take();
}

}  // namespace hotloop
