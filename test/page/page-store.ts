import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import { askPage } from "../../src/cli/serving/ask-page.ts";
import { NodeDisk } from "../../src/disk/node-disk.ts";
import { Sandbox } from "../cli/sandbox.ts";
import { chronicleBin } from "../helpers/cli-package.ts";

const repo = dirname(dirname(import.meta.dirname));

/** One tool call of a turn: what it does in the project. */
export type Edit = (box: Sandbox) => void;

/**
 * A store and a project, and a server that offers the page. The page is built from the present sources. Tests make the
 * history by real commands and hook calls.
 */
export class PageStore extends Sandbox implements AsyncDisposable {
  #child: ChildProcess | undefined;
  #port = 0;
  #calls = 0;

  /** The address of the server. It stays the same when the server is started again. */
  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Starts the server. Resolves once it listens. */
  async serve(): Promise<void> {
    const options = ["--store", this.store, "--idle", "900", "--ui", "--json", "--port", String(this.#port)];
    const child = spawn(process.execPath, [pageBin(), "serve", ...options], {
      cwd: this.folder,
      env: this.env(),
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#child = child;
    let said = "";
    for await (const piece of child.stdout) {
      said += String(piece);
      if (!said.trimEnd().endsWith("}")) continue;
      const { page } = JSON.parse(said) as { page: string };
      this.#port = Number(new URL(page).port);
      return;
    }
    throw new Error(`the server ended: ${child.exitCode ?? child.signalCode} ${said}`);
  }

  /** Ends the server, and starts it at another port. */
  async serveElsewhere(): Promise<void> {
    await this.kill();
    this.#port = 0;
    await this.serve();
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }

  /** Resolves to the address of a view, with a new one-time code, as `chronicle ui` prints it. */
  async address(path = "/"): Promise<string> {
    const given = { disk: new NodeDisk(), home: this.store, env: this.env(), version: packageJson.version };
    const url = new URL(await askPage({ ...given, port: this.#port }));
    return `${url.origin}${path}${url.hash}`;
  }

  /** Resolves to the id of the project's workspace. */
  async workspace(): Promise<string> {
    const { value } = await this.json(["status"]);
    return (value as { readonly workspace: string }).workspace;
  }

  /** The text of a file of the project; `undefined` if there is no such file. */
  read(path: string): string | undefined {
    const full = join(this.project, path);
    return existsSync(full) ? readFileSync(full, "utf8") : undefined;
  }

  /**
   * Records a turn of an agent's session as its hooks do: one tool call for each edit. The name of an edit is the path
   * of a file that is written, or `$ ` and a shell command.
   */
  async turn(id: string, prompt: string, edits: Readonly<Record<string, Edit>>): Promise<void> {
    await this.#hears("UserPromptSubmit", { prompt_id: id, prompt });
    for (const [name, edit] of Object.entries(edits)) {
      this.#calls += 1;
      const tool = name.startsWith("$ ")
        ? { tool_name: "Bash", tool_input: { command: name.slice(2) } }
        : { tool_name: "Write", tool_input: { file_path: join(this.project, name), content: "" } };
      const call = { prompt_id: id, tool_use_id: `call-${this.#calls}`, ...tool };
      await this.#hears("PreToolUse", call);
      edit(this);
      await this.#hears("PostToolUse", { ...call, tool_response: {} });
    }
    await this.#hears("Stop", { prompt_id: id });
    // While the session is open, what this process runs is the agent's.
    await this.#hears("SessionEnd", { reason: "exit" });
  }

  async #hears(event: string, more: object): Promise<void> {
    const input = JSON.stringify({ session_id: SESSION, cwd: this.project, hook_event_name: event, ...more });
    await this.must(["hook", "claude", "--direct"], { input });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    this[Symbol.dispose]();
  }
}

const SESSION = "5b1f2c3d-0000-4000-8000-000000000001";

/** Starts a server for a new project whose history is made by `make`. */
export async function servedStore(make: (box: PageStore) => Promise<unknown>): Promise<PageStore> {
  const box = new PageStore();
  try {
    await make(box);
    await box.serve();
    return box;
  } catch (error) {
    await box[Symbol.asyncDispose]();
    throw error;
  }
}

let bin: string | undefined;

/** Returns the launcher of a package that has the page. */
function pageBin(): string {
  if (bin !== undefined) return bin;
  const launcher = chronicleBin();
  cpSync(builtPage(), join(dirname(dirname(launcher)), "dist", "ui"), { recursive: true });
  return (bin = launcher);
}

/** Builds the page, once for all files of a test run. Returns its folder. */
function builtPage(): string {
  const folder = join(process.env["CHRONICLE_TEST_PACKAGES"] ?? tmpdir(), `page-${lastChange()}`);
  if (existsSync(folder)) return folder;
  const unfinished = mkdtempSync(`${folder}-`);
  const vite = join(repo, "node_modules", "vite", "bin", "vite.js");
  const words = ["build", "--config", "ui/vite.config.ts", "--outDir", unfinished, "--logLevel", "warn"];
  const ran = spawnSync(process.execPath, [vite, ...words], { cwd: repo, encoding: "utf8" });
  if (ran.status !== 0) throw new Error(`the page was not built: ${ran.stdout}${ran.stderr}`);
  try {
    renameSync(unfinished, folder);
  } catch (error) {
    // Another test file has built it at the same time.
    if (!existsSync(folder)) throw error;
    rmSync(unfinished, { recursive: true });
  }
  return folder;
}

/** The time of the newest change in the sources of the page, and of what it uses. */
function lastChange(): number {
  const times = ["ui", "src/client", "src/api"].flatMap((top) =>
    readdirSync(join(repo, top), { recursive: true, encoding: "utf8" }).map((name) =>
      Math.ceil(statSync(join(repo, top, name)).mtimeMs),
    ),
  );
  return Math.max(...times);
}
