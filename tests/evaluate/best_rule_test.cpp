#include "evaluate/best_rule.hpp"

#include <gtest/gtest.h>

#include <hotloop/error.hpp>

namespace hotloop {
namespace {

constexpr EnvSpec kEnv{.name = "colony", .measures = {"success", "progress"}};

EvaluationOptions options(std::string best, double gain = 0) {
  EvaluationOptions o;
  o.best = std::move(best);
  o.gain = gain;
  return o;
}

Evaluation evaluation(double success, double progress, double mean) {
  Evaluation e;
  e.mean = mean;
  e.measures[0] = success;
  e.measures[1] = progress;
  return e;
}

// §12.3 and §18.9 of the durotaxis specification: 1000 * 0.2 + 100 * 0.5 + 120 = 370; 373 (+0.8 %)
// is not better, 374 (+1.1 %) is.
TEST(BestRule, WorkedExample) {
  const BestRule rule(options("1000 success + 100 progress + return", 0.01), kEnv);
  EXPECT_DOUBLE_EQ(rule.score(evaluation(0.2, 0.5, 120)), 370);
  EXPECT_TRUE(rule.is_better(370, std::nan("")));
  EXPECT_FALSE(rule.is_better(373, 370));
  EXPECT_TRUE(rule.is_better(374, 370));
}

TEST(BestRule, TheReturnAlone) {
  const BestRule rule(options("return"), kEnv);
  EXPECT_EQ(rule.score(evaluation(1, 1, -7)), -7);
  EXPECT_TRUE(rule.is_better(-6.9, -7));
  EXPECT_FALSE(rule.is_better(-7, -7));
}

TEST(BestRule, NegativeScoresMustGainTheSameShare) {
  const BestRule rule(options("return", 0.01), kEnv);
  EXPECT_FALSE(rule.is_better(-99.5, -100));
  EXPECT_TRUE(rule.is_better(-98.9, -100));
}

TEST(BestRule, UndefinedMeasuresCountAsZero) {
  const BestRule rule(options("5 success + -2 return"), kEnv);
  EXPECT_EQ(rule.score(evaluation(std::nan(""), 1, 3)), -6);
}

TEST(BestRule, RefusesTextThatIsNotAFormula) {
  for (const char* text : {"", "5", "succes", "success progress", "success +", "1000 * success",
                           "nan return", "inf return", "100 200 return"}) {
    EXPECT_THROW(BestRule(options(text), kEnv), UsageError) << text;
  }
  try {
    BestRule(options("10 succes + return"), kEnv);
    FAIL();
  } catch (const UsageError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("evaluation.best"), text.npos);
    EXPECT_NE(text.find("success"), text.npos) << text;
  }
}

}  // namespace
}  // namespace hotloop
