import { execFile } from "node:child_process";
import { join } from "node:path";
import { ChronicleError, errnoOf } from "../../core/values/errors.ts";
import { isLink, isThere, removeEmptyFolder, removeUserFile } from "../../process/user-files.ts";
import { knownHome } from "../../process/places.ts";
import { launchdAgent, readLaunchdAgent } from "./launchd-agent.ts";
import { readSystemdUnit, systemdUnit } from "./systemd-unit.ts";
import type { InstalledService, WatchService } from "./watch-service.ts";

/** The surroundings in which the programs of a service manager run. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly userHome: string;
  readonly platform: NodeJS.Platform;
  readonly uid: number;
}

/** The reason why no service can be started here. */
export interface NoManager {
  readonly what: string;
  readonly hint: string;
}

/** The program that starts services when a user logs in, and keeps them running. */
export interface ServiceManager {
  readonly kind: "systemd" | "launchd";
  /** The folder with the files of the services. */
  readonly folder: string;
  /** The extension of the services' files, with its dot. */
  readonly ending: string;
  /**
   * True if a service is active as soon as it is started. Any other state then means that the service has ended again.
   */
  readonly startsAtOnce: boolean;
  textOf(name: string, service: WatchService): string;
  /** Returns the facts about the service that a file contains; `undefined` if this program has not made the text. */
  read(text: string): InstalledService | undefined;
  /** Returns the reason why no service can be started; `undefined` if services can be started. */
  lacking(): Promise<NoManager | undefined>;
  /** Starts the service of the written file, now and at each login. Throws `UNAVAILABLE` if that fails. */
  start(name: string): Promise<void>;
  /** Ends the service, and keeps it from being started again. Throws `UNAVAILABLE` if that fails. */
  stop(name: string): Promise<void>;
  /** Removes the links that `start` has made to the service's file. Also works if the manager does not run. */
  dropLinks(name: string): void;
  /** Makes the manager read the services' files again, after a file was removed. Does not throw. */
  reload(name: string): Promise<void>;
  /** Returns the state in one word, such as `active` or `failed`. */
  stateOf(name: string): Promise<string>;
  /** Returns the commands that show why a service does not run, and that start it. */
  advice(name: string): string;
  /** Returns notes on when the services run. */
  notes(): Promise<string[]>;
}

/** Returns the service manager of this system. Throws `PLATFORM_UNSUPPORTED` on other systems than Linux and macOS. */
export function serviceManager(around: Surroundings): ServiceManager {
  if (around.platform === "linux") return new Systemd(around);
  if (around.platform === "darwin") return new Launchd(around);
  throw new ChronicleError("PLATFORM_UNSUPPORTED", `a watch cannot be installed on ${around.platform}`, {
    hint: "have your system start `chronicle -C FOLDER watch` when you log in",
  });
}

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The maximum time, in milliseconds, for which a program of a service manager may run. */
const MOST_MS = 90_000;

/** Runs a program and keeps its output. Resolves to `undefined` if there is no such program. */
function runTool(
  { env }: Pick<Surroundings, "env">,
  program: string,
  args: readonly string[],
): Promise<Ended | undefined> {
  const { promise, resolve } = Promise.withResolvers<Ended | undefined>();
  execFile(program, [...args], { env: { ...env }, timeout: MOST_MS }, (error, stdout, stderr) => {
    if (error === null) return resolve({ code: 0, stdout, stderr });
    if (errnoOf(error) === "ENOENT") return resolve(undefined);
    const code = typeof error.code === "number" ? error.code : 1;
    resolve({ code, stdout, stderr: stderr === "" ? error.message : stderr });
  });
  return promise;
}

function lastLine({ stdout, stderr }: Ended): string {
  const lines = (stderr.trim() === "" ? stdout : stderr).trim().split("\n");
  return lines.at(-1) ?? "";
}

function failed(command: readonly string[], ended: Ended | undefined): ChronicleError {
  const why = ended === undefined ? "there is no such program" : `${lastLine(ended)} (exit code ${ended.code})`;
  return new ChronicleError("UNAVAILABLE", `\`${command.join(" ")}\` failed: ${why}`, {
    hint: "correct what this message names, and try again; until then: `chronicle watch` in a terminal of its own",
  });
}

/** Runs a command. Throws `UNAVAILABLE` if the command fails. */
async function must(around: Surroundings, ...command: readonly [string, ...string[]]): Promise<void> {
  const [program, ...args] = command;
  const ended = await runTool(around, program, args);
  if (ended?.code !== 0) throw failed(command, ended);
}

const BY_HAND =
  "without a service manager, start the watch yourself: `chronicle watch` in a terminal of its own, or `setsid chronicle -C FOLDER watch " +
  "</dev/null >/dev/null 2>&1 &`; in a container, start it together with the container's program";

/** The states in which a user manager can start services. */
const UP = new Set(["initializing", "starting", "running", "degraded", "maintenance"]);

class Systemd implements ServiceManager {
  readonly kind = "systemd";
  readonly folder: string;
  readonly ending = ".service";
  readonly startsAtOnce = true;
  readonly #around: Surroundings;

  constructor(around: Surroundings) {
    this.#around = around;
    const { XDG_CONFIG_HOME: config = "" } = around.env;
    this.folder = join(config === "" ? join(knownHome(around.userHome), ".config") : config, "systemd", "user");
  }

  textOf(_name: string, service: WatchService): string {
    return systemdUnit(service);
  }

  read(text: string): InstalledService | undefined {
    return readSystemdUnit(text);
  }

  async lacking(): Promise<NoManager | undefined> {
    const ended = await runTool(this.#around, "systemctl", ["--user", "is-system-running"]);
    if (ended === undefined) return { what: "systemd is not installed here (there is no systemctl)", hint: BY_HAND };
    if (UP.has(ended.stdout.trim())) return undefined;
    return {
      what: `no systemd user manager runs for you here (systemctl --user: ${lastLine(ended)})`,
      hint: `log in as this user itself (not by su or sudo), or \`loginctl enable-linger\`, and try again; ${BY_HAND}`,
    };
  }

  async start(name: string): Promise<void> {
    const unit = `${name}${this.ending}`;
    await must(this.#around, "systemctl", "--user", "daemon-reload");
    await must(this.#around, "systemctl", "--user", "enable", unit);
    await must(this.#around, "systemctl", "--user", "restart", unit);
  }

  async stop(name: string): Promise<void> {
    await must(this.#around, "systemctl", "--user", "disable", "--now", `${name}${this.ending}`);
  }

  dropLinks(name: string): void {
    const wants = join(this.folder, "default.target.wants");
    const link = join(wants, `${name}${this.ending}`);
    if (!isLink(link)) return;
    removeUserFile(link);
    removeIfEmpty(wants);
  }

  async reload(name: string): Promise<void> {
    await runTool(this.#around, "systemctl", ["--user", "daemon-reload"]);
    await runTool(this.#around, "systemctl", ["--user", "reset-failed", `${name}${this.ending}`]);
  }

  async stateOf(name: string): Promise<string> {
    const ended = await runTool(this.#around, "systemctl", ["--user", "is-active", `${name}${this.ending}`]);
    return ended?.stdout.trim().split("\n")[0] || "unknown";
  }

  advice(name: string): string {
    return `\`journalctl --user -u ${name}\` says why; \`systemctl --user restart ${name}\` starts it`;
  }

  async notes(): Promise<string[]> {
    const args = ["show-user", String(this.#around.uid), "--property=Linger"];
    const ended = await runTool(this.#around, "loginctl", args);
    const [, linger] = /^Linger=(yes|no)$/m.exec(ended?.stdout ?? "") ?? [];
    if (linger === "yes") return [];
    const turnOn = "`loginctl enable-linger` has it run from the start of the machine on, and after you log out";
    if (linger === "no") return [`the watch runs while you are logged in; ${turnOn}`];
    return [`whether the watch also runs while you are not logged in could not be determined (loginctl); ${turnOn}`];
  }
}

class Launchd implements ServiceManager {
  readonly kind = "launchd";
  readonly folder: string;
  readonly ending = ".plist";
  readonly startsAtOnce = false;
  readonly #around: Surroundings;
  readonly #domain: string;

  constructor(around: Surroundings) {
    this.#around = around;
    this.#domain = `gui/${around.uid}`;
    this.folder = join(knownHome(around.userHome), "Library", "LaunchAgents");
  }

  textOf(name: string, service: WatchService): string {
    return launchdAgent(name, service);
  }

  read(text: string): InstalledService | undefined {
    return readLaunchdAgent(text);
  }

  async lacking(): Promise<NoManager | undefined> {
    const ended = await runTool(this.#around, "launchctl", ["print", this.#domain]);
    if (ended?.code === 0) return undefined;
    const why = ended === undefined ? "there is no launchctl" : lastLine(ended);
    return {
      what: `you have no login session in which launchd starts agents (launchctl print ${this.#domain}: ${why})`,
      hint: `log in at the machine's own screen, and try again; ${BY_HAND}`,
    };
  }

  async start(name: string): Promise<void> {
    // An agent that is loaded already must be unloaded first. The result is ignored, because `bootout` fails if no
    // agent is loaded.
    await runTool(this.#around, "launchctl", ["bootout", `${this.#domain}/${name}`]);
    await must(this.#around, "launchctl", "bootstrap", this.#domain, join(this.folder, `${name}${this.ending}`));
  }

  async stop(name: string): Promise<void> {
    if ((await this.stateOf(name)) === "not loaded") return;
    await must(this.#around, "launchctl", "bootout", `${this.#domain}/${name}`);
  }

  dropLinks(): void {
    // launchd loads the files of the folder, and keeps nothing else.
  }

  async reload(): Promise<void> {
    await Promise.resolve();
  }

  async stateOf(name: string): Promise<string> {
    const ended = await runTool(this.#around, "launchctl", ["print", `${this.#domain}/${name}`]);
    if (ended?.code !== 0) return "not loaded";
    const [, state = "unknown"] = /^\s*state = (.+)$/m.exec(ended.stdout) ?? [];
    return state === "running" ? "active" : state;
  }

  advice(name: string): string {
    const label = `${this.#domain}/${name}`;
    return `\`launchctl print ${label}\` says why; \`launchctl kickstart -k ${label}\` starts it`;
  }

  notes(): Promise<string[]> {
    return Promise.resolve(["the watch runs while you are logged in"]);
  }
}

/** Removes a folder if it is there and empty. */
export function removeIfEmpty(folder: string): void {
  if (!isThere(folder)) return;
  try {
    removeEmptyFolder(folder);
  } catch (error) {
    if (!["ENOTEMPTY", "EEXIST"].includes(errnoOf(error) ?? "")) throw error;
  }
}
