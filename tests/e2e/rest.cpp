#include "tests/e2e/rest.h"

#include <curl/curl.h>

#include <algorithm>
#include <cctype>
#include <memory>

namespace trainyard::e2e {
namespace {

std::size_t add_to_body(char* data, std::size_t size, std::size_t count, void* target) {
  static_cast<std::string*>(target)->append(data, size * count);
  return size * count;
}

std::size_t add_header(char* data, std::size_t size, std::size_t count, void* target) {
  std::string line(data, size * count);
  const std::size_t colon = line.find(':');
  if (colon == std::string::npos) return size * count;
  std::string name = line.substr(0, colon);
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
  const std::size_t end = line.find_last_not_of("\r\n \t");
  std::string value =
      begin == std::string::npos || end < begin ? "" : line.substr(begin, end - begin + 1);
  (*static_cast<std::map<std::string, std::string>*>(target))[name] = value;
  return size * count;
}

}  // namespace

Answer send(const Call& call) {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  Answer answer;
  const std::unique_ptr<CURL, void (*)(CURL*)> handle(curl_easy_init(), curl_easy_cleanup);
  if (started != CURLE_OK || !handle) return answer;

  curl_slist* list = nullptr;
  for (const std::string& header : call.headers) list = curl_slist_append(list, header.c_str());
  const std::unique_ptr<curl_slist, void (*)(curl_slist*)> headers(list, curl_slist_free_all);

  curl_easy_setopt(handle.get(), CURLOPT_URL, call.url.c_str());
  curl_easy_setopt(handle.get(), CURLOPT_CUSTOMREQUEST, call.method.c_str());
  curl_easy_setopt(handle.get(), CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(handle.get(), CURLOPT_TIMEOUT, call.timeout_seconds);
  curl_easy_setopt(handle.get(), CURLOPT_NOSIGNAL, 1L);
  if (call.method == "POST" || !call.body.empty()) {
    curl_easy_setopt(handle.get(), CURLOPT_POSTFIELDSIZE, static_cast<long>(call.body.size()));
    curl_easy_setopt(handle.get(), CURLOPT_POSTFIELDS, call.body.data());
  }
  if (call.method == "HEAD") curl_easy_setopt(handle.get(), CURLOPT_NOBODY, 1L);
  curl_easy_setopt(handle.get(), CURLOPT_WRITEFUNCTION, add_to_body);
  curl_easy_setopt(handle.get(), CURLOPT_WRITEDATA, &answer.body);
  curl_easy_setopt(handle.get(), CURLOPT_HEADERFUNCTION, add_header);
  curl_easy_setopt(handle.get(), CURLOPT_HEADERDATA, &answer.headers);
  if (curl_easy_perform(handle.get()) == CURLE_OK) {
    curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &answer.status);
  }
  return answer;
}

}  // namespace trainyard::e2e
