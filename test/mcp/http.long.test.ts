import { type IncomingHttpHeaders, request } from "node:http";
import { describe, expect, it } from "vitest";
import { serveHttp } from "../../src/mcp/serve-http.ts";
import { serverParts } from "../helpers/mcp-project.ts";
import { toolAnswer } from "../helpers/mcp-client.ts";
import { Project } from "../helpers/project.ts";
import { spawn } from "node:child_process";
import { ended, Sandbox } from "../cli/sandbox.ts";

const TOKEN = "a token for tests only";

interface Reply {
  readonly status: number;
  readonly body: string;
  readonly headers: IncomingHttpHeaders;
}

/** A server on a project that holds `a.txt`. */
class HttpProject implements AsyncDisposable {
  readonly project = new Project();
  readonly #parts = serverParts(this.project).parts;
  #server: Awaited<ReturnType<typeof serveHttp>> | undefined;

  static async start(): Promise<HttpProject> {
    const made = new HttpProject();
    made.project.write("a.txt", "one");
    await (await made.project.init()).close();
    made.#server = await serveHttp(made.#parts, { port: 0, token: TOKEN.replaceAll(" ", "-") });
    return made;
  }

  get url(): URL {
    return new URL(this.#server?.url ?? "");
  }

  /** Sends a request. `headers` are added to those of a good request; the value `undefined` removes a header. */
  ask(body: string, headers: Record<string, string | undefined> = {}, path = "/mcp", method = "POST"): Promise<Reply> {
    const good: Record<string, string | undefined> = {
      authorization: `Bearer ${TOKEN.replaceAll(" ", "-")}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...headers,
    };
    const given = Object.fromEntries(Object.entries(good).filter(([, value]) => value !== undefined));
    return new Promise((resolve, reject) => {
      const { hostname, port } = this.url;
      const asked = request({ hostname, port, path, method, headers: given as Record<string, string> }, (answer) => {
        let text = "";
        answer.setEncoding("utf8");
        answer.on("data", (piece: string) => (text += piece));
        answer.on("end", () => resolve({ status: answer.statusCode ?? 0, body: text, headers: answer.headers }));
      });
      asked.on("error", reject);
      asked.end(body);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.close();
    await this.#parts.workspace.close();
    await this.project[Symbol.asyncDispose]();
  }
}

const call = (name: string, args: object = {}): string =>
  JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } });

/** The message in an answer: plain JSON, or one event of a stream. */
function messageOf({ body }: Reply): { result: Parameters<typeof toolAnswer>[0] } {
  const data = /^data: (.*)$/m.exec(body)?.[1] ?? body;
  return JSON.parse(data) as { result: Parameters<typeof toolAnswer>[0] };
}

describe("MCP over HTTP", () => {
  it("serves the tools to whoever has the token", async () => {
    await using http = await HttpProject.start();
    http.project.write("a.txt", "two");
    const diff = await http.ask(call("diff"));
    expect(diff.status).toBe(200);
    expect(toolAnswer(messageOf(diff).result).text).toContain("~ a.txt");
    const restored = await http.ask(call("restore", { moment: "baseline" }));
    expect(toolAnswer(messageOf(restored).result).isError).toBe(false);
    expect(http.project.read("a.txt")).toBe("one");
  });

  it.each<[string, Record<string, string | undefined>, number]>([
    ["another host", { host: "evil.example" }, 421],
    ["this host and another port", { host: "127.0.0.1:1" }, 421],
    ["this host without a port", { host: "localhost" }, 421],
    ["a name that ends like ours", { host: "127.0.0.1.evil.example:80" }, 421],
    ["another origin", { origin: "http://evil.example" }, 403],
    ["the origin null", { origin: "null" }, 403],
    ["another port's origin", { origin: "http://localhost:1" }, 403],
    ["another site", { "sec-fetch-site": "cross-site" }, 403],
    ["no token", { authorization: undefined }, 401],
    ["another token", { authorization: "Bearer a-token-for-tests-onlY" }, 401],
    ["a longer token", { authorization: "Bearer a-token-for-tests-only1" }, 401],
    ["the token in another scheme", { authorization: "Basic a-token-for-tests-only" }, 401],
    ["a form", { "content-type": "text/plain" }, 415],
  ])("%s is refused before anything is done", async (_, headers, status) => {
    await using http = await HttpProject.start();
    http.project.write("a.txt", "two");
    const reply = await http.ask(call("restore", { moment: "baseline" }), headers);
    expect(reply.status).toBe(status);
    expect(reply.body).not.toContain(http.project.folder);
    expect(http.project.read("a.txt")).toBe("two");
  });

  it("its own origin is served; another path, a token in the query and a body that is too large are refused", async () => {
    await using http = await HttpProject.start();
    const origin = `http://${http.url.host}`;
    const own = await http.ask(call("status"), { origin });
    expect(own.status).toBe(200);
    expect(Object.keys(own.headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
    expect((await http.ask("", { authorization: undefined }, "/mcp", "OPTIONS")).status).toBe(401);
    expect((await http.ask(call("status"), {}, "/mcp/../x")).status).toBe(404);
    expect((await http.ask(call("status"), {}, "/")).status).toBe(404);
    const query = `/mcp?token=${TOKEN.replaceAll(" ", "-")}`;
    for (const authorization of [undefined, `Bearer ${TOKEN.replaceAll(" ", "-")}`])
      expect((await http.ask(call("status"), { authorization }, query)).status).toBe(400);
    const large = await http.ask(call("diff", { from: "x".repeat(5 * 1024 ** 2) })).catch(() => ({ status: 413 }));
    expect(large.status).toBe(413);
    expect((await http.ask("", {}, "/mcp", "GET")).status).toBe(405);
    expect((await http.ask(call("status"))).status).toBe(200);
  });

  it("listens on loopback only", async () => {
    await using http = await HttpProject.start();
    expect(http.url.hostname).toBe("127.0.0.1");
  });
});

describe("chronicle mcp --http", () => {
  it("prints where it listens and the token, and a signal ends it", async () => {
    using box = new Sandbox();
    await box.must(["init"]);
    const [node = "", ...first] = box.command;
    const child = spawn(node, [...first, "--json", "mcp", "--http"], {
      cwd: box.project,
      env: box.env(),
      stdio: "pipe",
    });
    const said = await new Promise<string>((resolve) => child.stdout.once("data", (data) => resolve(String(data))));
    const { url, token } = JSON.parse(said) as { url: string; token: string };
    const headers = {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    };
    const reply = await fetch(url, { method: "POST", headers, body: call("status") });
    expect(reply.status).toBe(200);
    expect(await reply.text()).toContain(box.project);
    child.kill("SIGINT");
    expect(await ended(child)).toBe(0);
  });

  it("refuses a token that is too short, and a port that is taken", async () => {
    using box = new Sandbox();
    const short = await box.call(["mcp", "--http"], { env: { CHRONICLE_MCP_TOKEN: "short" } });
    expect(short.code).toBe(2);
    await using http = await HttpProject.start();
    const taken = await box.call(["mcp", "--http", "--port", http.url.port]);
    expect(taken).toMatchObject({ code: 6 });
    expect(taken.stderr).toContain(http.url.port);
  });
});
