import { createHash } from "node:crypto";
import {
  closeSync,
  fchmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { InitOptions, OpenOptions, StoreApi, StoreOptions } from "../../src/api/store-api.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { openStore } from "../../src/open.ts";

interface ProjectOptions {
  readonly storeInside?: boolean;
  readonly config?: string;
}

/**
 * A temporary folder to record, with a store and a configuration of its own, on the real disk. Disposal closes and
 * removes everything.
 */
export class Project implements AsyncDisposable {
  readonly base = realpathSync(mkdtempSync(join(tmpdir(), "chronicle-test-")));
  readonly folder = join(this.base, "project");
  readonly home: string;
  readonly configFolder: string;
  readonly #stores = new Set<StoreApi>();
  readonly #workspaces = new Set<WorkspaceApi>();

  /**
   * `storeInside`: if true, the store is in the tracked folder, as `.state`. `config`: the folder of the key and the
   * heads, in `base`.
   */
  constructor({ storeInside = false, config = "config" }: ProjectOptions = {}) {
    this.configFolder = join(this.base, config);
    this.home = storeInside ? join(this.folder, ".state") : join(this.base, "store");
    mkdirSync(this.folder);
  }

  /** Returns the absolute path of a file of the project. */
  at(path: string): string {
    return join(this.folder, path);
  }

  write(path: string, content: string | Uint8Array, mode = 0o644): void {
    mkdirSync(dirname(this.at(path)), { recursive: true });
    // Changes the mode of the open file, because a running command may remove the file as soon as it exists.
    const file = openSync(this.at(path), "w");
    try {
      writeFileSync(file, content);
      fchmodSync(file, mode);
    } finally {
      closeSync(file);
    }
  }

  read(path: string): string {
    return readFileSync(this.at(path), "utf8");
  }

  link(path: string, target: string): void {
    mkdirSync(dirname(this.at(path)), { recursive: true });
    symlinkSync(target, this.at(path));
  }

  remove(path: string): void {
    rmSync(this.at(path), { recursive: true, force: true });
  }

  async store(options: Partial<StoreOptions> = {}): Promise<StoreApi> {
    const store = await openStore({ home: this.home, configFolder: this.configFolder, waitMs: 5_000, ...options });
    this.#stores.add(store);
    return store;
  }

  async init(options: Partial<InitOptions> = {}): Promise<WorkspaceApi> {
    const { workspace } = await (await this.store()).init({ roots: [this.folder], ...options });
    this.#workspaces.add(workspace);
    return workspace;
  }

  async open(options: Partial<OpenOptions> = {}): Promise<WorkspaceApi> {
    const workspace = await (await this.store()).open({ folder: this.folder, ...options });
    this.#workspaces.add(workspace);
    return workspace;
  }

  /** Returns the kind, mode and content of every path below a folder. Default: the project. */
  tree(folder = this.folder): Record<string, string> {
    const found: Record<string, string> = Object.create(null) as Record<string, string>;
    const walk = (at: string, prefix: string): void => {
      for (const name of readdirSync(at, { encoding: "latin1" }).sort()) {
        const path = Buffer.concat([Buffer.from(`${at}/`, "latin1"), Buffer.from(name, "latin1")]);
        const stat = lstatSync(path);
        const mode = (stat.mode & 0o7777).toString(8);
        if (stat.isSymbolicLink()) found[prefix + name] = `link ${readlinkSync(path)}`;
        else if (stat.isDirectory()) {
          found[prefix + name] = `dir ${mode}`;
          walk(path.toString("latin1"), `${prefix}${name}/`);
        } else if (stat.isFile())
          found[prefix + name] = `file ${mode} ${createHash("sha256").update(readFileSync(path)).digest("hex")}`;
        else found[prefix + name] = "special";
      }
    };
    walk(folder, "");
    return Object.fromEntries(Object.entries(found));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const workspace of this.#workspaces) await workspace.close();
    for (const store of this.#stores) await store.close();
    rmSync(this.base, { recursive: true, force: true });
  }
}
