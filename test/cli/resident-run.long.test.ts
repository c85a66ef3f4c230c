import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { whoAnswers } from "../../src/daemon/ask-server.ts";
import { chronicleBin } from "../helpers/cli-package.ts";
import { endProcess } from "../helpers/end-process.ts";
import { VERSION } from "../helpers/resident-server.ts";
import { Sandbox } from "./sandbox.ts";

/** A run that the store's process records. The client starts the command of the run. */

/** Writes the first line of each answer of the process to the file that `ANSWERS` names. */
const SPY = `
const { appendFileSync } = require("node:fs");
const net = require("node:net");
const { connect } = net;
net.connect = (...args) => connect(...args).on("data", (data) => {
  appendFileSync(process.env.ANSWERS, data.toString().split("\\r\\n\\r\\n")[1].split("\\n")[0] + "\\n");
});
`;

class Project extends Sandbox {
  get #answers(): string {
    return join(this.folder, "answers");
  }

  get #env(): NodeJS.ProcessEnv {
    return { ...this.env(), CHRONICLE_DIRECT: undefined, ANSWERS: this.#answers };
  }

  client(words: readonly string[], stdio: ("pipe" | "ignore")[] = ["ignore", "pipe", "pipe"]): Client {
    const spy = join(this.folder, "spy.cjs");
    writeFileSync(spy, SPY);
    const argv = ["--require", spy, join(dirname(chronicleBin()), "chronicle.cjs"), ...words];
    return new Client(spawn(process.execPath, argv, { cwd: this.project, env: this.#env, stdio }));
  }

  /** Lets a client start the store's process. Resolves to its id once the process has the workspace open. */
  async startedProcess(): Promise<number> {
    rmSync(join(this.store, "run", "starting"), { force: true });
    await this.client(["status"]).ended;
    await vi.waitUntil(async () => (await this.processOfStore()) > 0, { timeout: 90_000, interval: 20 });
    // The first of these commands makes the process open the workspace.
    await vi.waitUntil(
      async () => {
        rmSync(this.#answers, { force: true });
        await this.client(["status"]).ended;
        return this.answers.some((line) => line.startsWith('{"code":'));
      },
      { timeout: 90_000, interval: 20 },
    );
    return this.processOfStore();
  }

  /** The id of the process that answers at the store's socket. 0 if none answers. */
  async processOfStore(): Promise<number> {
    return (await whoAnswers(join(this.store, "run", "serve.sock"), VERSION, 5_000))?.pid ?? 0;
  }

  /** The first lines of the answers of the process. */
  get answers(): string[] {
    return existsSync(this.#answers) ? readFileSync(this.#answers, "utf8").split("\n").slice(0, -1) : [];
  }

  forgetAnswers(): void {
    rmSync(this.#answers, { force: true });
  }

  read(name: string): string | undefined {
    const path = join(this.project, name);
    return existsSync(path) ? readFileSync(path, "utf8") : undefined;
  }
}

class Client {
  readonly child: ChildProcess;
  readonly ended: Promise<{ code: number | null; signal: string | null; stdout: string; stderr: string }>;

  constructor(child: ChildProcess) {
    this.child = child;
    const texts = [child.stdout, child.stderr].map(async (stream) => (stream === null ? "" : textOf(stream)));
    const { promise, resolve } = Promise.withResolvers<[number | null, string | null]>();
    child.on("close", (code, signal) => resolve([code, signal]));
    this.ended = promise.then(async ([code, signal]) => {
      const [stdout = "", stderr = ""] = await Promise.all(texts);
      return { code, signal, stdout, stderr };
    });
  }
}

async function textOf(stream: NodeJS.ReadableStream): Promise<string> {
  let text = "";
  for await (const piece of stream) text += String(piece);
  return text;
}

let box: Project;
let pid: number;
beforeEach(async () => {
  box = new Project();
  box.write("a.txt", "one\n");
  await box.must(["init"]);
  pid = await box.startedProcess();
  box.forgetAnswers();
});
afterEach(async () => {
  for (let next = await box.processOfStore(); next > 0; next = await box.processOfStore()) {
    await endProcess(next, "SIGKILL");
  }
  box[Symbol.dispose]();
});

const isOrder = (line: string): boolean => line.startsWith('{"run":');

describe("a run that the store's process records", () => {
  it("has the input, output, descriptors, folder, environment and exit code of its client", async () => {
    const script = "cat; pwd; echo to-err >&2; echo to-3 >&3; echo ${#CHRONICLE_RUN}; echo 2 > a.txt; exit 7";
    const run = box.client(["run", "--", "sh", "-c", script], ["pipe", "pipe", "pipe", "pipe"]);
    run.child.stdin?.end("input\n");
    const third = textOf(run.child.stdio[3] as unknown as NodeJS.ReadableStream);
    const { code, stdout, stderr } = await run.ended;
    expect([code, stdout, await third]).toEqual([7, `input\n${box.project}\n36\n`, "to-3\n"]);
    expect(stderr.split("\n")).toEqual(["to-err", expect.stringMatching(/^chronicle: 1 change \(1 modified\)/), ""]);
    expect(box.answers.filter(isOrder)).toHaveLength(1);
    expect(box.answers.at(-1)).toContain('{"code":7');
    const [session] = (await box.json(["sessions"])).value as { exit_code: number; changed: number; state: string }[];
    expect(session).toMatchObject({ exit_code: 7, changed: 1, state: "ended" });
    await box.must(["undo"]);
    expect(box.read("a.txt")).toBe("one\n");
  });

  it("keeps the process alive beyond its idle time, but only until the run ends", async () => {
    await endProcess(pid, "SIGTERM");
    // Longer than a command takes on a busy machine, because the process must still be there when the run begins.
    const words = [chronicleBin(), "serve", "--store", box.store, "--idle", "12", "--quiet"];
    const own = spawn(process.execPath, words, { env: { ...box.env(), CHRONICLE_DIRECT: undefined }, stdio: "ignore" });
    await vi.waitUntil(async () => (await box.processOfStore()) === own.pid, { timeout: 30_000, interval: 20 });
    expect(await box.startedProcess()).toBe(own.pid);
    const ran = await box.client(["run", "--", "sh", "-c", "sleep 15; echo 2 > a.txt; exit 3"]).ended;
    expect([ran.code, own.exitCode]).toEqual([3, null]);
    expect(box.answers.at(-1)).toContain('{"code":3');
    await vi.waitUntil(() => own.exitCode !== null, { timeout: 60_000, interval: 50 });
    expect((await box.json(["sessions"])).value).toMatchObject([{ exit_code: 3, changed: 1, state: "ended" }]);
  });

  it("whose command cannot be started has the exit code of a shell, and leaves no open session", async () => {
    box.write("no-program", "x\n");
    for (const [program, code] of [
      ["no-such-program", 127],
      ["./no-program", 126],
    ] as const) {
      const ran = await box.client(["run", "--", program]).ended;
      expect([ran.code, ran.stderr]).toEqual([code, expect.stringContaining(`${program} could not be started`)]);
    }
    expect(box.answers.filter(isOrder)).toHaveLength(2);
    expect((await box.must(["sessions"])).stdout).not.toContain("running");
  });

  it("records writes of its command through a hard link that the command makes", async () => {
    box.write("b.txt", "one\n");
    box.write("src/c.txt", "one\n");
    // After these commands, the process reads only the paths that the watcher hints at.
    for (const words of [["run", "--", "true"], ["run", "--", "touch", "z"], ["status"]]) await box.client(words).ended;
    box.forgetAnswers();
    // The watcher reports nothing about the first file, and only the new name of the second one.
    for (const [name, script] of [
      ["b.txt", "ln b.txt ../link; echo two >> ../link; rm ../link; sleep 1"],
      ["a.txt", "ln a.txt src/link; echo two >> src/link"],
    ] as const) {
      await box.client(["snapshot"]).ended;
      expect((await box.client(["run", "--", "sh", "-c", script]).ended).code).toBe(0);
      expect((await box.must(["history", name])).stdout.trim().split("\n").at(-1)).toMatch(/ run +[0-9a-f-]{36}$/);
      await box.must(["undo"]);
      expect(box.read(name)).toBe("one\n");
    }
    expect(box.answers.filter(isOrder)).toHaveLength(2);
  });

  it("gives its command no descriptors of its own", async () => {
    const script = "for fd in /proc/self/fd/*; do readlink $fd; done | sort | sed 's/[0-9][0-9]*/N/g'";
    const [served, direct] = await Promise.all([
      box.client(["run", "--", "sh", "-c", script]).ended,
      box.client(["--direct", "run", "--", "sh", "-c", script]).ended,
    ]);
    expect(box.answers.filter(isOrder)).toHaveLength(1);
    expect(served.stdout).toBe(direct.stdout);
  });

  it("is rolled back, also if the process is killed between the end of the session and the rollback", async () => {
    await box.must(["snapshot"]);
    const files = Array.from({ length: 300 }, (_, at) => `f${at}`);
    for (const name of files) box.write(name, "one\n");
    await box.client(["snapshot"]).ended;
    const script = "for f in f*; do echo two > $f; done; exit 3";
    const run = box.client(["run", "--rollback-on-failure", "--", "sh", "-c", script]);
    const [id] = readdirSync(join(box.store, "workspaces"));
    const log = join(box.store, "workspaces", id ?? "", "events.wal");
    await vi.waitUntil(
      () => /"kind":"run"[^\n]*"state":"ended"|"state":"ended"[^\n]*"kind":"run"/.test(readFileSync(log, "utf8")),
      {
        timeout: 30_000,
        interval: 1,
      },
    );
    await endProcess(pid, "SIGKILL");
    const { code, stderr } = await run.ended;
    expect([code, stderr]).toEqual([3, expect.stringContaining("taken back")]);
    expect(new Set(files.map((name) => box.read(name)))).toEqual(new Set(["one\n"]));
  });

  it("records intermediate states, and does not make other commands wait", async () => {
    const script = "echo 2 > a.txt; while [ ! -e go ]; do sleep 0.1; done; echo 3 > a.txt";
    const run = box.client(["run", "--", "sh", "-c", script]);
    await vi.waitUntil(() => box.read("a.txt") === "2\n", { timeout: 20_000 });
    await vi.waitUntil(async () => (await box.must(["history", "a.txt"])).stdout.split("\n").length > 2);
    const during = await box.client(["status"]).ended;
    expect(during.stdout).toContain("recording: run sh -c");
    expect((await box.client(["snapshot", "--name", "during"]).ended).code).toBe(0);
    box.write("go", "");
    expect((await run.ended).code).toBe(0);
    expect(box.answers.filter((line) => line.includes('"direct"'))).toEqual([]);
    await box.must(["restore", "during", "a.txt"]);
    expect(box.read("a.txt")).toBe("2\n");
  });

  it("passes signals of its client to the command; after SIGINT, the client ends by the signal, too", async () => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      const script = `trap 'echo ${signal} > a.txt; trap - ${signal.slice(3)}; kill -${signal.slice(3)} $$' ${signal.slice(3)}; echo up; while :; do sleep 0.1; done`;
      const run = box.client(["run", "--", "sh", "-c", script]);
      await new Promise((up) => run.child.stdout?.once("data", up));
      run.child.kill(signal);
      const ran = await run.ended;
      expect([ran.code, ran.signal]).toEqual(signal === "SIGINT" ? [null, "SIGINT"] : [143, null]);
      expect(box.read("a.txt")).toBe(`${signal}\n`);
      expect(ran.stderr).toContain("1 change (1 modified)");
    }
    expect(box.answers.filter(isOrder)).toHaveLength(2);
  });

  it("whose process is killed leaves the transaction around it open, and ends its own one", async () => {
    const owner = spawn("sleep", ["60"]);
    const around = (await box.must(["transaction", "begin", "--pid", String(owner.pid)])).stdout.trim();
    try {
      for (const [words, content] of [
        [["run"], "2\n"],
        [["run", "--rollback-on-failure"], "2\n"],
      ] as const) {
        const run = box.client(
          [...words, "--", "sh", "-c", "echo up; read line; echo 2$line > a.txt; exit $line"],
          ["pipe", "pipe", "pipe"],
        );
        await new Promise((up) => run.child.stdout?.once("data", up));
        await endProcess(pid, "SIGKILL");
        run.child.stdin?.end(words.length === 1 ? "\n" : "3\n");
        const ran = await run.ended;
        expect([ran.code, box.read("a.txt")]).toEqual([words.length === 1 ? 0 : 3, content]);
        pid = await box.startedProcess();
      }
      const all = JSON.parse((await box.must(["transaction", "list", "--json"])).stdout) as {
        id: string;
        status: string;
      }[];
      // The newest comes first.
      expect(all.map(({ id, status }) => [id === around, status])).toEqual([
        [false, "rolled_back"],
        [true, "active"],
      ]);
    } finally {
      owner.kill("SIGKILL");
    }
  });

  it("that was killed with its client is abandoned, and rolled back only with --rollback-on-failure", async () => {
    for (const [words, content] of [
      [["run"], "2\n"],
      [["run", "--rollback-on-failure"], "one\n"],
    ] as const) {
      box.write("a.txt", "one\n");
      await box.must(["snapshot"]);
      const run = box.client([...words, "--", "sh", "-c", "echo 2 > a.txt; sleep 60 & echo $!; wait"]);
      const child = await new Promise<number>((got) => run.child.stdout?.once("data", (data) => got(Number(data))));
      await vi.waitUntil(
        async () => {
          const [session] = (await box.json(["sessions"])).value as { session_id: string }[];
          return (await box.must(["history", "a.txt"])).stdout.includes(session?.session_id ?? "none");
        },
        { timeout: 20_000 },
      );
      run.child.kill("SIGKILL");
      process.kill(child, "SIGKILL");
      await vi.waitUntil(async () => !(await box.client(["status"]).ended).stdout.includes("recording:"));
      await box.must(["snapshot"]);
      expect(box.read("a.txt")).toBe(content);
    }
    expect((await box.must(["sessions"])).stdout.match(/abandoned/g)).toHaveLength(2);
  });

  it.each(["SIGKILL", "SIGTERM", "SIGSTOP"] as const)(
    "is recorded once and with its exit code, even if the process gets %s during the run",
    async (signal) => {
      const renewed = async (): Promise<number> => {
        for (let next = await box.processOfStore(); next > 0; next = await box.processOfStore())
          await endProcess(next, "SIGKILL");
        return box.startedProcess();
      };
      let recorded = 0;
      for (const delay of [0, 60, 150, 400, 900]) {
        const run = box.client(["run", "--", "sh", "-c", `sleep 0.3; echo ${delay} > a.txt; sleep 0.3; exit 5`]);
        await sleep(delay);
        process.kill(pid, signal);
        const { code, stderr } = await run.ended;
        if (signal === "SIGSTOP" && code === 125) {
          // The process was stopped while it held the workspace's lock, so the command was not started.
          expect([delay, stderr, box.read("a.txt")]).toEqual([delay, expect.stringContaining("lock"), "one\n"]);
          process.kill(pid, "SIGCONT");
          // The command may have started another process. The continued one then ends, and must not be stopped again.
          pid = await renewed();
          continue;
        }
        recorded += 1;
        expect([delay, code, box.read("a.txt")]).toEqual([delay, 5, `${delay}\n`]);
        expect([delay, stderr]).toEqual([delay, expect.stringContaining("1 change (1 modified)")]);
        if (signal === "SIGSTOP") {
          process.kill(pid, "SIGCONT");
          // Waits, because the continued process must not record the run a second time.
          await sleep(1_500);
        }
        await box.must(["undo"]);
        expect([delay, box.read("a.txt")]).toEqual([delay, "one\n"]);
        const sessions = (await box.json(["sessions"])).value as { exit_code: number; state: string }[];
        expect(sessions[0]).toMatchObject({ exit_code: 5, state: "ended" });
        pid = await renewed();
      }
      const all = (await box.json(["sessions"])).value as { exit_code: number | null }[];
      expect(all.filter((one) => one.exit_code === 5)).toHaveLength(recorded);
      expect(recorded).toBeGreaterThan(2);
      expect((await box.call(["verify"])).code).toBe(0);
    },
    600_000,
  );
});
