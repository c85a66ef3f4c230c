import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { chronicleBin } from "./cli-package.ts";

/** The ids of two users. They need no entry in `/etc/passwd`. */
export const ALICE = 61_001;
export const BOB = 61_002;

/** The exit code of a command, and its output on both streams. `code` is `null` if a signal ended it. */
export interface Ran {
  readonly code: number | null;
  readonly out: string;
}

/** Options of running a script. */
export interface RunHow {
  /** The user whose home folder is `$HOME`. Default: the user who runs the script. */
  readonly home?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** A command that runs the shell, such as `["unshare", "-m"]`. Default: none. */
  readonly within?: readonly string[];
}

/**
 * Users of one machine, each with a home folder, and a project of Alice's. Only root can make them. Disposal removes
 * everything.
 */
export class People implements Disposable {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), "chronicle-people-")));
  readonly project = join(this.folder, "project");

  constructor() {
    const bin = chronicleBin();
    for (const path of [this.folder, dirname(dirname(bin))]) chmodSync(path, 0o755);
    mkdirSync(this.project);
    execFileSync("chown", [`${ALICE}:${ALICE}`, this.project]);
    for (const uid of [0, ALICE, BOB]) {
      mkdirSync(this.home(uid));
      execFileSync("chown", [`${uid}:${uid}`, this.home(uid)]);
    }
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  home(uid: number): string {
    return join(this.folder, `home-${uid}`);
  }

  /** Returns the default store of a user. */
  store(uid: number): string {
    return join(this.home(uid), ".local/state/chronicle");
  }

  /** Returns the default configuration folder of a user. */
  config(uid: number): string {
    return join(this.home(uid), ".config/chronicle");
  }

  /** Runs a shell script as a user, with the umask that most systems have. */
  run(uid: number, script: string, { home = uid, env = {}, cwd = this.project, within = [] }: RunHow = {}): Ran {
    const chronicle = `chronicle() { "${process.execPath}" "${chronicleBin()}" "$@"; }`;
    const as = ["setpriv", `--reuid=${uid}`, `--regid=${uid}`, "--clear-groups"];
    const [first, ...words] = [...within, ...as, "sh", "-ec", `umask 022; ${chronicle}; ${script}`];
    const ran = spawnSync(first, words, {
      cwd,
      env: { CI: "true", PATH: process.env["PATH"], HOME: this.home(home), LC_ALL: "C.UTF-8", ...env },
      encoding: "utf8",
    });
    if (ran.error !== undefined) throw ran.error;
    return { code: ran.status, out: ran.stdout + ran.stderr };
  }

  /** Like `run`, but returns the output, and throws if the script fails. */
  as(uid: number, script: string, how: RunHow = {}): string {
    const { code, out } = this.run(uid, script, how);
    if (code !== 0) throw new Error(`${script} ended with ${code}: ${out}`);
    return out;
  }

  /** Returns the path itself and every path below it that belong to a user. */
  ownedBy(uid: number, path: string): string[] {
    if (!existsSync(path)) return [];
    const stat = lstatSync(path);
    const below = stat.isDirectory() ? readdirSync(path).flatMap((name) => this.ownedBy(uid, join(path, name))) : [];
    return stat.uid === uid ? [path, ...below] : below;
  }
}

/** True if this test run can act as several users. */
export const hasPeople = process.getuid?.() === 0 && spawnSync("setpriv", ["--version"]).status === 0;
