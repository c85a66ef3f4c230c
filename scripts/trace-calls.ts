import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Counts the function calls of a few operations: `node scripts/trace-calls.ts [--json]`. The sources run with V8's
 * precise coverage, which counts the calls of each function. A server is traced twice, with one write and with eleven.
 * A tenth of the difference is the cost of one write.
 */

const repo = join(import.meta.dirname, "..");
const main = join(repo, "src/cli/main.ts");
/** Without this option, V8 drops the code of functions that have not run for a while, together with their counts. */
const KEEP_COUNTS = "--no-flush-bytecode";
const base = mkdtempSync(join(tmpdir(), "chronicle-trace-"));
process.on("exit", () => rmSync(base, { recursive: true, force: true }));

interface Trace {
  /** The number of calls of named functions of `src/`. */
  readonly calls: number;
  /** The number of named functions that were called. */
  readonly functions: number;
  readonly files: number;
  /** The number of calls of `catchUp`, which reads the log's new events. */
  readonly catchUps: number;
}

interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly functionName: string;
      readonly ranges: readonly { readonly count: number }[];
    }[];
  }[];
}

/** Returns `file function` → the number of calls, added up over all processes whose coverage is in a folder. */
function counted(folder: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of readdirSync(folder)) {
    const { result } = JSON.parse(readFileSync(join(folder, name), "utf8")) as Coverage;
    for (const { url, functions } of result) {
      if (!url.startsWith(`file://${repo}/src/`)) continue;
      for (const { functionName, ranges } of functions) {
        const count = ranges[0]?.count ?? 0;
        if (functionName === "" || count === 0) continue;
        const key = `${url.slice(`file://${repo}/`.length)} ${functionName}`;
        counts.set(key, (counts.get(key) ?? 0) + count);
      }
    }
  }
  return counts;
}

function traceOf(counts: ReadonlyMap<string, number>): Trace {
  const called = [...counts].filter(([, count]) => count > 0);
  const sum = (some: typeof called) => Math.round(some.reduce((total, [, count]) => total + count, 0));
  return {
    calls: sum(called),
    functions: called.length,
    files: new Set(called.map(([key]) => key.split(" ")[0])).size,
    catchUps: sum(called.filter(([key]) => key.endsWith(" catchUp"))),
  };
}

/** A project with a history, in a store of its own. */
class Place {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  #runs = 0;

  constructor(name: string) {
    const home = join(base, name);
    this.folder = join(home, "project");
    mkdirSync(this.folder, { recursive: true });
    mkdirSync(join(home, "run"), { mode: 0o700 });
    const path = process.env["PATH"];
    this.env = { PATH: path, HOME: home, XDG_RUNTIME_DIR: join(home, "run"), CHRONICLE_HOME: join(home, "store") };
    for (let n = 0; n < 20; n += 1) writeFileSync(join(this.folder, `file-${n}.txt`), `one\ntwo ${n}\nthree\n`);
    this.must(["init"]);
  }

  must(words: readonly string[], options: { readonly env?: NodeJS.ProcessEnv; readonly input?: string } = {}): void {
    const { env = {}, input = "" } = options;
    const ran = spawnSync(process.execPath, [KEEP_COUNTS, main, ...words], {
      cwd: this.folder,
      env: { ...this.env, ...env },
      input,
    });
    if (ran.status !== 0) throw new Error(`${words.join(" ")}: ${ran.status} ${ran.stderr.toString()}`);
  }

  /** Makes a folder for the coverage of the next process. */
  traced(): string {
    const folder = join(this.folder, "..", `trace-${(this.#runs += 1)}`);
    mkdirSync(folder);
    return folder;
  }

  trace(words: readonly string[], input?: string): Trace {
    const folder = this.traced();
    this.must(words, { env: { NODE_V8_COVERAGE: folder }, ...(input === undefined ? {} : { input }) });
    return traceOf(counted(folder));
  }
}

function put(socketPath: string, path: string, body: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const asked = request({ socketPath, path, method: "PUT", headers: { host: "chronicle" } }, (response) => {
    response.resume();
    response.once("end", () => {
      if (response.statusCode !== undefined && response.statusCode < 300) resolve();
      else reject(new Error(`PUT: ${response.statusCode}`));
    });
  });
  asked.once("error", reject);
  asked.end(body);
  return promise;
}

/** Counts the calls of a server from its start to its end, with this number of writes in between. */
async function served(name: string, writes: number): Promise<Map<string, number>> {
  const place = new Place(name);
  const socket = join(place.env["XDG_RUNTIME_DIR"] ?? "", "c.sock");
  const folder = place.traced();
  const env = { ...place.env, NODE_V8_COVERAGE: folder };
  const server = spawn(process.execPath, [KEEP_COUNTS, main, "serve", "--json", "--socket", socket], {
    cwd: place.folder,
    env,
  });
  await new Promise<void>((resolve) => server.stdout.once("data", () => resolve()));
  const listed = spawnSync(process.execPath, [main, "status", "--json"], { cwd: place.folder, env: place.env });
  const { workspace } = JSON.parse(listed.stdout.toString()) as {
    readonly workspace: { readonly id: string } | string;
  };
  const id = typeof workspace === "string" ? workspace : workspace.id;
  for (let n = 0; n < writes; n += 1) {
    await put(socket, `/v1/workspaces/${id}/files/file-1.txt`, `put ${n % 10}`);
    await new Promise((resolve) => setTimeout(resolve, 400));
  }
  const ended = new Promise((resolve) => server.once("exit", resolve));
  server.kill("SIGTERM");
  await ended;
  return counted(folder);
}

async function tracePut(): Promise<Trace> {
  const [few, many] = [await served("put-1", 1), await served("put-11", 11)];
  return traceOf(new Map([...many].map(([key, count]) => [key, (count - (few.get(key) ?? 0)) / 10])));
}

const HOOK = {
  session_id: "5f1f1a56-1d2c-4a26-9d36-0a1b2c3d4e5f",
  transcript_path: "/nowhere/transcript.jsonl",
  hook_event_name: "PreToolUse",
  tool_name: "Write",
  tool_use_id: "toolu_01",
};

async function traces(): Promise<Record<string, Trace>> {
  const place = new Place("command");
  const hooked = JSON.stringify({
    ...HOOK,
    cwd: place.folder,
    tool_input: { file_path: join(place.folder, "file-2.txt"), content: "x\n" },
  });
  return {
    "run with a one-line edit": place.trace(["run", "--", "sh", "-c", "echo changed >> file-1.txt"]),
    "its undo": place.trace(["undo"]),
    "hook before a tool, without the server": place.trace(["hook", "claude", "--direct"], hooked),
    "HTTP PUT of 5 bytes, folder workspace": await tracePut(),
  };
}

const found = await traces();
if (process.argv.includes("--json")) console.log(JSON.stringify(found, null, 2));
else {
  console.log(
    `${"operation".padEnd(42)} ${["calls", "functions", "files", "catch-ups"].map((one) => one.padStart(10)).join("")}`,
  );
  for (const [name, { calls, functions, files, catchUps }] of Object.entries(found))
    console.log(
      `${name.padEnd(42)} ${[calls, functions, files, catchUps].map((one) => String(one).padStart(10)).join("")}`,
    );
}
