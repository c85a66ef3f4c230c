import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, lstatSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { InitOptions, StoreApi, StoreOptions } from "../../src/api/store-api.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { decodeName, pathToBytes } from "../../src/core/values/path.ts";
import { openStore } from "../../src/open.ts";

export const hasGit = spawnSync("git", ["--version"]).status === 0;

type GivenOptions = Pick<StoreOptions, "onNote" | "retention">;

/** A repository, a person's home with a configuration of git, and a store, on the real disk. The real git is used. */
export class GitProject implements AsyncDisposable {
  readonly base = realpathSync(mkdtempSync(join(tmpdir(), "chronicle-git-")));
  readonly home = join(this.base, "home");
  readonly config = join(this.home, ".config");
  /** The top of a repository. */
  readonly top = join(this.base, "repo");
  readonly #stores: StoreApi[] = [];
  readonly #workspaces: WorkspaceApi[] = [];

  constructor(how: readonly string[] = []) {
    for (const folder of [this.home, this.config, this.top]) mkdirSync(folder);
    this.git(["init", "-q", ...how]);
  }

  /**
   * Runs git as the person does: with the configuration of the home, but without that of the machine. Returns its
   * output.
   */
  git(args: readonly string[], cwd = this.top): Buffer {
    return execFileSync("git", args, { cwd, env: this.env, stdio: ["ignore", "pipe", "pipe"], maxBuffer: 2 ** 26 });
  }

  get env(): NodeJS.ProcessEnv {
    const who = { GIT_AUTHOR_NAME: "a", GIT_AUTHOR_EMAIL: "a@b", GIT_COMMITTER_NAME: "a", GIT_COMMITTER_EMAIL: "a@b" };
    return {
      PATH: process.env["PATH"],
      CI: "true",
      HOME: this.home,
      XDG_CONFIG_HOME: this.config,
      GIT_CONFIG_NOSYSTEM: "1",
      ...who,
    };
  }

  /**
   * Writes a file. `path` is relative to the top, or absolute. Bytes in it that are not UTF-8 are encoded as in
   * workspace paths.
   */
  write(path: string, content: string | Uint8Array = path): void {
    const full = path.startsWith("/") ? path : join(this.top, path);
    mkdirSync(pathToBytes(dirname(full)), { recursive: true });
    writeFileSync(pathToBytes(full), typeof content === "string" ? pathToBytes(content) : content);
  }

  async store(options: GivenOptions = {}): Promise<StoreApi> {
    const store = await openStore({
      ...options,
      home: join(this.base, "store"),
      configFolder: join(this.config, "chronicle"),
      userHome: this.home,
      waitMs: 5_000,
    });
    this.#stores.push(store);
    return store;
  }

  /** Starts a workspace on a folder of the repository. */
  async init(folder = "", options: Partial<InitOptions> = {}, ofStore: GivenOptions = {}): Promise<WorkspaceApi> {
    const { workspace } = await (await this.store(ofStore)).init({ roots: [join(this.top, folder)], ...options });
    this.#workspaces.push(workspace);
    return workspace;
  }

  /**
   * Returns the files that git counts as part of the project in a folder: tracked files, and files that no rule
   * excludes.
   */
  gitSees(folder = ""): string[] {
    const at = join(this.top, folder);
    const listed = this.git(["ls-files", "-z", "--cached", "--others", "--exclude-standard"], at);
    const found = new Set<string>();
    for (let from = 0; from < listed.length;) {
      const end = listed.indexOf(0, from);
      const path = decodeName(listed.subarray(from, end)).replace(/\/$/, "");
      from = end + 1;
      const full = pathToBytes(join(at, path));
      if (!existsSync(full)) continue;
      // This is a repository within the repository. Git is asked about it separately.
      if (lstatSync(full).isDirectory())
        for (const one of this.gitSees(join(folder, path))) found.add(`${path}/${one}`);
      else found.add(path);
    }
    return [...found].sort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const workspace of this.#workspaces) await workspace.close();
    for (const store of this.#stores) await store.close();
    spawnSync("chmod", ["-R", "u+rwX", this.base]);
    rmSync(this.base, { recursive: true, force: true });
  }
}

/** Captures the disk, and returns the files that a workspace has recorded. */
export async function recorded(workspace: WorkspaceApi): Promise<string[]> {
  await workspace.snapshot();
  const { files } = await workspace.manifest("latest");
  return Object.entries(files)
    .filter(([, { kind }]) => kind !== "dir")
    .map(([path]) => path)
    .sort();
}
