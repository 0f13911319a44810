// Which code may run.
//
// A run folder, a spec, a suite or a model can name a file of code. It may have come from anybody,
// so its code is neither compiled nor loaded unless
//   (a) the user named that file in the command or call: trust_named();
//   (b) the same content was trusted before;
//   (c) the user said so in advance: TrustAll, which is --trust or trust=True; or
//   (d) the user answers yes to a question on the terminal.
// In all cases the SHA-256 of the content is remembered in the user's list, so a run made here asks
// nothing. The hash is that of the very bytes that are then compiled or loaded: the file is read
// once. It does not cover headers in <...>, nor what trusted code loads by itself.
#pragma once

#include <string>
#include <vector>

namespace hotloop {

struct Code {
  std::string kind;                     // one word: "source", "library", "module"
  std::string name;                     // the path of a file, or the name of a Python module
  std::string bytes;                    // what is compiled, loaded or imported
  std::vector<std::string> included{};  // files that are part of the bytes, for the question
};

// The code of an environment's file: a source with what it includes, or a library. Throws
// UsageError if there is no such file.
Code read_code(const std::string& path);
// A Python module is known by its name only.
Code python_module(const std::string& name);

// Code that may run: there is no other way to compile or to load an environment's file.
class TrustedCode {
 public:
  explicit TrustedCode(Code code);  // asks if necessary; throws UsageError if the answer is no
  const std::string& path() const { return code_.name; }
  const std::string& bytes() const { return code_.bytes; }

 private:
  Code code_;
};

// A word of the user's: the environment in this file may run, as it is now. Does nothing for any
// other word. "env.name=FILE" is accepted too.
void trust_named(const std::string& word);
void trust(const Code& code);

// While it exists, this thread trusts all code.
class TrustAll {
 public:
  explicit TrustAll(bool is_on = true);
  ~TrustAll();
  TrustAll(const TrustAll&) = delete;
  TrustAll& operator=(const TrustAll&) = delete;

 private:
  bool before_;
};

// $XDG_STATE_HOME/hotloop/trusted or ~/.local/state/hotloop/trusted, one line for each content:
// hash, kind, date, name. "" if there is neither.
std::string trust_list();

}  // namespace hotloop
