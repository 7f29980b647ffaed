// A table for the terminal: columns as wide as their widest cell.
#pragma once

#include <string>
#include <vector>

namespace lab {

class Table {
  public:
    enum class Align { left, right };

    explicit Table(std::vector<std::string> header, std::vector<Align> align = {});

    void add(std::vector<std::string> row);
    [[nodiscard]] bool empty() const { return rows_.empty(); }

    /// Lines of text, each indented by `indent` spaces.
    [[nodiscard]] std::string text(int indent = 2) const;

    /// The same table in Markdown.
    [[nodiscard]] std::string markdown() const;

  private:
    [[nodiscard]] Align align(std::size_t column) const;

    std::vector<std::string> header_;
    std::vector<Align> align_;
    std::vector<std::vector<std::string>> rows_;
};

}  // namespace lab
