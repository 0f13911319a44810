#include "env/file/static_data.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
#include <string_view>

#include "core/file.hpp"

namespace hotloop {
namespace {

struct Symbol {
  std::string name;
  std::size_t offset;  // from the library's load address
  std::size_t size;
};

// The writable objects of a library. A file that is not an ELF library has none.
std::vector<Symbol> writable_objects(std::string_view file) {
  std::vector<Symbol> found;
  const auto read = [&](std::size_t at, auto& to) {
    if (at > file.size() || sizeof to > file.size() - at) return false;
    std::memcpy(&to, file.data() + at, sizeof to);
    return true;
  };
  ElfW(Ehdr) header{};
  if (!read(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return found;
  std::vector<ElfW(Shdr)> sections(header.e_shnum);
  for (std::size_t i = 0; i < sections.size(); ++i) {
    if (!read(header.e_shoff + i * header.e_shentsize, sections[i])) return found;
  }
  const auto text = [&](std::size_t table, std::size_t at) -> std::string {
    const std::size_t begin =
        table < sections.size() ? sections[table].sh_offset + at : file.size();
    return begin < file.size() ? std::string(file.substr(begin, file.find('\0', begin) - begin))
                               : "";
  };
  for (const ElfW(Shdr) & section : sections) {
    if (section.sh_type != SHT_SYMTAB) continue;
    for (std::size_t at = 0; at < section.sh_size; at += sizeof(ElfW(Sym))) {
      ElfW(Sym) symbol{};
      if (!read(section.sh_offset + at, symbol)) return found;
      if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_size == 0) continue;
      if (symbol.st_shndx >= sections.size()) continue;
      const ElfW(Shdr)& home = sections[symbol.st_shndx];
      const std::string place = text(header.e_shstrndx, home.sh_name);
      // Relocated constants can be written to only while the library is being loaded.
      if ((home.sh_flags & SHF_WRITE) == 0 || place.starts_with(".data.rel.ro")) continue;
      found.push_back({text(section.sh_link, symbol.st_name), symbol.st_value, symbol.st_size});
    }
  }
  return found;
}

std::string demangled(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? text.get() : symbol;
}

// "World::step(int, hotloop::Rng&)" -> "World::step"; also removes "const" after the parentheses.
std::string without_parameters(const std::string& name) {
  std::string text;
  int depth = 0;
  for (const char c : name) {
    if (c == '(') ++depth;
    if (depth == 0) text += c;
    if (c == ')') --depth;
  }
  for (std::size_t at; (at = text.find(" const::")) != std::string::npos;) text.erase(at, 6);
  return text;
}

}  // namespace

std::string variable_name(const std::string& symbol) {
  // Function-local statics in C have a number: "best.0".
  std::string name = demangled(symbol);
  for (const std::string_view other :
       {"hotloop::", "std::", "__gnu_cxx::", "guard variable", "vtable", "VTT", "typeinfo", "_",
        "completed.", "construction"}) {
    if (name.starts_with(other)) return "";
  }
  // Remove anonymous namespaces first: their parentheses are not parameters.
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  for (std::size_t at; (at = name.find(kAnonymous)) != std::string::npos;) {
    name.erase(at, kAnonymous.size());
  }
  name = without_parameters(name);
  if (symbol.starts_with("_Z")) return name;
  return name.substr(0, name.find('.'));
}

StaticData::StaticData(const std::string& library) {
  void* handle = dlopen(std::filesystem::absolute(library).c_str(), RTLD_LAZY | RTLD_NOLOAD);
  link_map* map = nullptr;
  if (handle == nullptr || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) return;
  const std::vector<Symbol> symbols = writable_objects(read_file(library).text());
  std::set<std::string> guarded;
  for (const Symbol& symbol : symbols) {
    if (symbol.name.starts_with("_ZGV")) guarded.insert("_Z" + symbol.name.substr(4));
  }
  for (const Symbol& symbol : symbols) {
    std::string name = variable_name(symbol.name);
    if (name.empty()) continue;
    const auto* address = reinterpret_cast<const std::byte*>(map->l_addr + symbol.offset);
    variables_.push_back({std::move(name),
                          address,
                          guarded.contains(symbol.name),
                          {address, address + symbol.size}});
  }
  dlclose(handle);
}

void StaticData::all_are_initialised() {
  for (Variable& variable : variables_) {
    if (!variable.is_initialised_late) continue;
    std::memcpy(variable.before.data(), variable.address, variable.before.size());
  }
}

std::vector<std::string> StaticData::changed() const {
  std::vector<std::string> names;
  for (const Variable& variable : variables_) {
    if (std::memcmp(variable.address, variable.before.data(), variable.before.size()) != 0) {
      names.push_back(variable.name);
    }
  }
  return names;
}

}  // namespace hotloop
