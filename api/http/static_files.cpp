// Web files as routes, with types, tags and a strict content security policy.
#include "api/http/static_files.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace trainyard::api {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::pair<std::string_view, std::string_view>, 10> content_types{{
    {".html", "text/html; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".mjs", "text/javascript; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".json", "application/json"},
    {".svg", "image/svg+xml"},
    {".png", "image/png"},
    {".ico", "image/x-icon"},
    {".woff2", "font/woff2"},
    {".txt", "text/plain; charset=utf-8"},
}};

// Scripts, styles and data of our own origin only; nothing inline, nothing framed.
constexpr const char* security_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src "
    "'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

constexpr std::uintmax_t file_bytes_max = 16 << 20;

std::optional<std::string_view> content_type_of(const fs::path& path) {
  for (const auto& [extension, type] : content_types) {
    if (path.extension() == extension) return type;
  }
  return std::nullopt;
}

// FNV-1a: tells versions of a file apart, protects nothing.
std::string tag_of(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char letter : text) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211ULL;
  }
  return std::to_string(hash);
}

Route route_for(std::string url, std::string_view type, std::string content) {
  Response response{.content_type = std::string(type), .body = std::move(content)};
  response.headers = {{"Cache-Control", "no-cache"},
                      {"Content-Security-Policy", security_policy},
                      {"Referrer-Policy", "no-referrer"}};
  return {.method = Method::get,
          .pattern = std::move(url),
          .handler = [tag = tag_of(response.body), response](const Request&,
                                                             const Responder& responder) {
            responder.tagged(response, tag);
          }};
}

// A page of the UI by the address that a person would type: the UI has it behind '#'.
Route route_to_page(std::string pattern) {
  return {
      .method = Method::get,
      .pattern = std::move(pattern),
      .handler = [](const Request& request, const Responder& responder) {
        // As it was sent: of visible characters only, so it ends no header.
        responder.send(
            {.status = 302, .content_type = "", .headers = {{"Location", "/#" + request.path}}});
      }};
}

Result<std::vector<Route>> read_folder(const fs::path& folder) {
  std::vector<Route> routes;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const auto type = content_type_of(entry.path());
    const std::string name = fs::relative(entry.path(), folder).generic_string();
    if (!entry.is_regular_file() || !type || name.starts_with('.')) continue;
    if (entry.file_size() > file_bytes_max) return invalid(name + " in the UI folder is too large");
    std::ifstream file(entry.path(), std::ios::binary);
    std::string content{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (file.bad()) return unavailable("cannot read " + entry.path().string());
    routes.push_back(route_for(name == "index.html" ? "/" : "/" + name, *type, std::move(content)));
  }
  for (const char* const page : {"/jobs", "/jobs/{id}", "/cluster", "/agents", "/submit"}) {
    routes.push_back(route_to_page(page));
  }
  return routes;
}

}  // namespace

Result<std::vector<Route>> routes_for_folder(const std::string& folder) {
  std::error_code ignored;
  if (!fs::is_regular_file(fs::path(folder) / "index.html", ignored)) {
    return not_found("the UI folder " + folder + " has no index.html");
  }
  try {
    return read_folder(folder);
  } catch (const fs::filesystem_error& problem) {
    return unavailable(problem.what());
  }
}

}  // namespace trainyard::api
