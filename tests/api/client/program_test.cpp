// The program `trainyard` as a user runs it: what it sends, what it prints where, and its exit
// codes.
#include "tests/api/client/program.h"

#include <catch2/catch.hpp>
#include <string>

#include "tests/api/client/peer.h"
#include "tests/support/temp_folder.h"

namespace trainyard::client {
namespace {

std::string job(const std::string& state) {
  return http_answer(
      "200 OK", R"({"id":"j1","version":1,"spec":{"name":"digits"},"status":{"state":")" + state +
                    R"(","reason":"COMPLETED","step":20,"max_steps":20,)" +
                    R"("metrics":{"test_accuracy":0.975}}})");
}

const std::string nobody = "--server http://127.0.0.1:1 ";  // port 1: tcpmux, which no host runs

}  // namespace

TEST_CASE("submit sends the file as it is and prints the id alone", "[client]") {
  const TempFolder folder;
  folder.write("job.json", R"({"model": "mlp"} )");
  Peer peer({http_answer("201 Created", R"({"id":"j1"})")});

  const Run done =
      run("--server " + peer.url() + " submit --idempotency-key k1 " + folder.path("job.json"));

  CHECK(done.exit_code == 0);
  CHECK(done.output == "j1\n");
  CHECK(done.errors.empty());
  const std::string request = peer.requests().at(0);
  CHECK(request.starts_with("POST /v1/jobs HTTP/1.1\r\n"));
  CHECK(request.find("Idempotency-Key: k1\r\n") != std::string::npos);
  CHECK(request.ends_with("\r\n\r\n{\"model\": \"mlp\"} "));
}

TEST_CASE("a word that is no command is named", "[client]") {
  const Run done = run("frob --server http://127.0.0.1:1");
  CHECK(done.exit_code == 2);
  CHECK_THAT(done.errors, Catch::Contains("there is no command \"frob\""));
}

TEST_CASE("a folder is no spec", "[client]") {
  const Run done = run("submit /tmp");
  CHECK(done.exit_code == 1);
  CHECK_THAT(done.errors, Catch::Contains("/tmp is a folder"));
}

TEST_CASE("submit gives the job another name when asked to", "[client]") {
  const TempFolder folder;
  folder.write("job.json", R"({"name":"a","model":"mlp"})");
  Peer peer({http_answer("201 Created", R"({"id":"j1"})")});

  CHECK(run("--server " + peer.url() + " submit --name b " + folder.path("job.json")).exit_code ==
        0);

  CHECK(peer.requests().at(0).ends_with(R"({"model":"mlp","name":"b"})"));
}

TEST_CASE("a refused submit prints every fault and fails", "[client]") {
  Peer peer(
      {http_answer("422 Unprocessable Entity",
                   R"({"detail":"1 fault","errors":[{"pointer":"/mode","message":"is odd"}]})")});

  const TempFolder folder;
  folder.write("job.json", "{}");

  const Run done = run("--server " + peer.url() + " submit " + folder.path("job.json"));

  CHECK(done.exit_code == 1);
  CHECK(done.output.empty());
  CHECK(done.errors == "trainyard: 1 fault\n  /mode: is odd\n");
}

TEST_CASE("watch is 0 only for a job that succeeded", "[client]") {
  Peer succeeded({job("succeeded")});
  const Run good = run("--server " + succeeded.url() + " watch j1");
  CHECK(good.exit_code == 0);
  CHECK(good.output == "digits succeeded: test accuracy 0.9750, step 20/20\n");

  Peer failed({job("failed")});
  CHECK(run("--server " + failed.url() + " watch j1").exit_code == 3);
}

TEST_CASE("a list is a table, over as many pages as it takes", "[client]") {
  const auto page = [](const std::string& id, const std::string& token) {
    return http_answer("200 OK", R"({"items":[{"id":")" + id + R"(","spec":{"name":"n"},)" +
                                     R"("status":{"state":"queued"}}],"next_page_token":)" + token +
                                     "}");
  };
  Peer peer({page("j2", "\"t/1\""), page("j1", "null")});

  const Run done = run("--server " + peer.url() + " list --state queued --label team=vision");

  CHECK(done.exit_code == 0);
  CHECK(done.output ==
        "ID  NAME  STATE   REASON  STEP  LOSS  TEST METRIC  AGE\n"
        "j2  n     queued             -     -            -    -\n"
        "j1  n     queued             -     -            -    -\n");
  const std::string first = "GET /v1/jobs?limit=50&state=queued&label=team%3Avision";
  CHECK(peer.requests().at(0).starts_with(first + " "));
  CHECK(peer.requests().at(1).starts_with(first + "&page_token=t%2F1 "));
}

TEST_CASE("explain says where the parameters are", "[client]") {
  Peer peer({http_answer(
      "200 OK",
      R"({"job":"j1","state":"running","reason":"GANG_RUNNING","message":"","hosts":[],)"
      R"("partition":{"attempt":2,"policy":"greedy","bytes":4096,"balance":1.5,"tables":["t"],)"
      R"("shares":[{"task":"ps/0","bytes":3072,"share":0.75,"transport":"tcp","variables":[)"
      R"({"name":"a","bytes":2048,"pieces":1},{"name":"b","bytes":512,"pieces":1},)"
      R"({"name":"c","bytes":400,"pieces":1},{"name":"d","bytes":12,"pieces":1}],)"
      R"("variables_left_out":5},{"task":"ps/1","bytes":1024,"share":0.25,"transport":null,)"
      R"("variables":[{"name":"e","bytes":1024,"pieces":1}],"variables_left_out":0}]}})")});

  const Run done = run("--server " + peer.url() + " explain j1");

  CHECK(done.exit_code == 0);
  CHECK(done.output ==
        "j1  running  GANG_RUNNING\n"
        "\nParameters of attempt 2: 4.0 KiB by greedy, the largest share is 1.50 times the mean\n"
        "TASK    BYTES  SHARE  REACHED BY  VARIABLES\n"
        "ps/0  3.0 KiB   75 %  tcp         a 2.0 KiB, b 512 B, c 400 B and 6 more\n"
        "ps/1  1.0 KiB   25 %  -           e 1.0 KiB\n"
        "Rows of t are spread over all of them by id\n");
}

TEST_CASE("explain does not compare the share of the one that holds all", "[client]") {
  Peer peer({http_answer(
      "200 OK",
      R"({"job":"j1","state":"running","reason":"GANG_RUNNING","message":"","hosts":[],)"
      R"("partition":{"attempt":1,"policy":"chunks","bytes":4096,"balance":1,"tables":[],)"
      R"("shares":[{"task":"ps/0","bytes":4096,"share":1,"transport":"tcp","variables":[],)"
      R"("variables_left_out":0}]}})")});

  CHECK_THAT(run("--server " + peer.url() + " explain j1").output,
             Catch::Contains("Parameters of attempt 1: 4.0 KiB by chunks\n"));
}

TEST_CASE("logs go to stdout as they come, with what was asked for", "[client]") {
  Peer peer(
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: "
       "chunked\r\n\r\n4\r\none\n\r\n4\r\ntwo\n\r\n0\r\n\r\n"});

  const Run done = run("--server " + peer.url() + " logs j1 -f --task ps/0 --tail 5");

  CHECK(done.exit_code == 0);
  CHECK(done.output == "one\ntwo\n");
  CHECK(peer.requests().at(0).starts_with("GET /v1/jobs/j1/logs?task=ps%2F0&tail=5&follow=true "));
}

TEST_CASE("cancel, suspend and resume post to the job and tell its state", "[client]") {
  for (const std::string action : {"cancel", "suspend", "resume"}) {
    Peer peer({job("stopping")});
    const Run done = run("--server " + peer.url() + " " + action + " j1");
    CHECK(done.exit_code == 0);
    CHECK(done.output == "j1 stopping\n");
    CHECK(peer.requests().at(0).starts_with("POST /v1/jobs/j1/" + action + " "));
  }
}

TEST_CASE("a flag wins over the environment, the environment over the config file", "[client]") {
  const TempFolder folder;
  folder.write("c.json", R"({"server": "http://in-file.invalid"})");
  const std::string config = "--config " + folder.path("c.json") + " ";
  const std::string variable = "TRAINYARD_SERVER=http://in-variable.invalid";

  CHECK(run(config + "list").errors.find("in-file.invalid") != std::string::npos);
  CHECK(run(config + "list", variable).errors.find("in-variable.invalid") != std::string::npos);
  CHECK(run(config + nobody + "list", variable).errors.find("127.0.0.1:1 ") != std::string::npos);
}

TEST_CASE("a config file that is no JSON object or names no option is refused by name",
          "[client]") {
  const TempFolder folder;
  folder.write("c.json", R"({"local": {"cpu": 2}})");
  const Run unknown = run("--config " + folder.path("c.json") + " list");
  CHECK(unknown.exit_code == 2);
  CHECK(unknown.errors.find("\"local.cpu\" in " + folder.path("c.json") + " is not an option") !=
        std::string::npos);

  folder.write("c.json", "server = 1");
  CHECK(run("--config " + folder.path("c.json") + " list").exit_code == 2);
}

TEST_CASE("a failed job's log and a task's cannot move the cursor of a terminal", "[client]") {
  const std::string failed = http_answer(
      "200 OK", R"({"id":"j1","status":{"state":"failed","first_failure":{"task":"ps/0",)"
                R"("log_tail":"one\n\u001b[2Jtwo\n"}}})");
  Peer peer({failed, http_answer("200 OK", R"({"items":[]})"), http_answer("200 OK", "\x1b[2J\n")});

  const Run shown = run("--server " + peer.url() + " get j1");
  CHECK(shown.exit_code == 0);
  CHECK(shown.output.find("one\n?[2Jtwo\n") != std::string::npos);
  CHECK(run("--server " + peer.url() + " logs j1").output == "\x1b[2J\n");  // no terminal: as it is
}

TEST_CASE("a value that is wrong is refused by its source, unless a flag overrides it",
          "[client]") {
  const TempFolder folder;
  folder.write("c.json", R"({"local": {"cpus": "few"}})");
  const std::string config = "--config " + folder.path("c.json") + " ";

  const Run variable = run("local", "TRAINYARD_GPUS=many");
  CHECK(variable.exit_code == 2);
  CHECK(variable.errors.starts_with("trainyard: TRAINYARD_GPUS: "));
  const Run file = run(config + "list");
  CHECK(file.exit_code == 2);
  CHECK(file.errors.find("\"local.cpus\" in " + folder.path("c.json")) != std::string::npos);
  CHECK(run(nobody + "list", "TRAINYARD_GPUS=many").exit_code == 1);  // not an option of list
  const Run help = run("local --help", "TRAINYARD_GPUS=many");
  CHECK(help.exit_code == 0);
  CHECK(help.output.find("(TRAINYARD_GPUS)") != std::string::npos);
}

TEST_CASE("wrong usage and a server that is not there are told apart", "[client]") {
  CHECK(run("").exit_code == 2);
  CHECK(run("fly").exit_code == 2);
  CHECK(run("list --limit none").exit_code == 2);
  CHECK(run("--help").exit_code == 0);
  const Run away = run(nobody + "list");
  CHECK(away.exit_code == 1);
  CHECK(away.errors.find("no server answers at http://127.0.0.1:1") != std::string::npos);
}

TEST_CASE("get shows the newest attempt, and what ended an earlier one in one line", "[client]") {
  const std::string job = http_answer(
      "200 OK", R"({"id":"j1","spec":{"name":"digits"},"status":{"state":"running","attempt":2,)"
                R"("first_failure":{"task":"ps/0","attempt":1,"agent":"a","reason":"SIGNALLED",)"
                R"("message":"signal 9","log_tail":"long ago"}}})");
  const std::string tasks = http_answer(
      "200 OK", R"({"items":[{"role":"ps","index":0,"attempt":1,"state":"failed","address":"h:1"},)"
                R"({"role":"ps","index":0,"attempt":2,"state":"running","address":"h:2"}]})");
  for (const std::string more : {"", " --all-attempts"}) {
    Peer peer({job, tasks});
    const Run shown = run("--server " + peer.url() + " get j1" + more);
    CHECK(shown.exit_code == 0);
    CHECK_THAT(shown.output,
               Catch::Contains("failure (attempt 1)            ps/0 on a: SIGNALLED"));
    CHECK_THAT(shown.output, !Catch::Contains("long ago"));
    CHECK_THAT(shown.output, Catch::Contains("h:2"));
    CHECK((shown.output.find("h:1") != std::string::npos) == !more.empty());
  }
}

TEST_CASE("logs says when there is nothing", "[client]") {
  Peer peer({http_answer("200 OK", ""), http_answer("200 OK", "a line\n")});
  const Run nothing = run("--server " + peer.url() + " logs j1");
  CHECK(nothing.exit_code == 0);
  CHECK(nothing.output.empty());
  CHECK(nothing.errors == "nothing is written yet\n");
  CHECK(run("--server " + peer.url() + " logs j1").errors.empty());
}

TEST_CASE("a model is shown in the language, with its arguments in the query", "[client]") {
  Peer peer({http_answer("200 OK", R"({"name":"mlp","model":{"layers":["flatten",)"
                                   R"({"op":"dense","units":"classes"}],)"
                                   R"("loss":"softmax_cross_entropy"}})")});
  const Run shown = run("--server " + peer.url() + " model show mlp hidden=[64] activation=relu");
  CHECK(shown.exit_code == 0);
  CHECK(peer.requests().at(0).starts_with(
      "GET /v1/models/mlp?hidden=%5B64%5D&activation=relu HTTP/1.1\r\n"));
  CHECK_THAT(shown.output, Catch::Contains(R"({"op": "dense", "units": "classes"})"));
  CHECK(run("--server " + peer.url() + " model show mlp hidden").exit_code == 1);
  CHECK(run("--server " + peer.url() + " model").exit_code == 2);
}

TEST_CASE("models are listed with their arguments", "[client]") {
  Peer peer({http_answer("200 OK", R"({"items":[{"name":"mlp","description":"A perceptron",)"
                                   R"("arguments":[{"name":"hidden"},{"name":"activation"}]}]})")});
  const Run shown = run("--server " + peer.url() + " models");
  CHECK(shown.exit_code == 0);
  CHECK_THAT(shown.output, Catch::Contains("A perceptron") && Catch::Contains("hidden activation"));
}

}  // namespace trainyard::client
