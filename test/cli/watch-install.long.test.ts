import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { RecordingShape } from "../../src/api/shapes.ts";
import { chronicleBin } from "../helpers/cli-package.ts";
import { UserManager } from "../helpers/user-manager.ts";
import { Sandbox } from "./sandbox.ts";

/** The command line as it is installed, because a service starts that. */
class InstalledSandbox extends Sandbox {
  override get command(): readonly string[] {
    return [process.execPath, chronicleBin()];
  }
}

const STRANGE = 'my 100% "folder" $HOME \\ ü';
let box: InstalledSandbox;
let manager: UserManager;
let units: string;

beforeEach(() => {
  box = new InstalledSandbox();
  manager = new UserManager(box.folder);
  units = join(box.folder, "config", "systemd", "user");
});

afterEach(() => {
  manager[Symbol.dispose]();
  box[Symbol.dispose]();
});

function run(...args: readonly string[]) {
  return box.run(args, { env: { PATH: `${manager.bin}:${process.env["PATH"] ?? ""}` } });
}

function must(...args: readonly string[]) {
  const ran = run(...args);
  expect([ran.code, ran.stderr]).toEqual([0, expect.any(String)]);
  return ran;
}

function recording(folder: string): RecordingShape {
  const ran = run("-C", folder, "--json", "status");
  return (JSON.parse(ran.stdout) as { recording: RecordingShape }).recording;
}

/** All files and links beneath the configuration folder that are not Chronicle's own. */
function configured(): string[] {
  const all = readdirSync(join(box.folder, "config"), { recursive: true }) as string[];
  return all.filter((path) => !path.startsWith("chronicle")).toSorted();
}

const soon = { timeout: 60_000, interval: 100 };

describe("chronicle watch --install", () => {
  it("records a folder of any name from then on, and is removed without a trace", async () => {
    const folder = join(box.folder, STRANGE);
    mkdirSync(folder);
    writeFileSync(join(folder, "a"), "1");
    const before = configured();
    const { stdout } = must("watch", "--install", folder);
    expect(stdout).toMatch(/^installed: .*; recording since \d\d:\d\d \(pid \d+\)\n/);
    expect(stdout).toContain("note: the watch runs while you are logged in; `loginctl enable-linger`");
    const [name = ""] = readdirSync(units).filter((file) => file.endsWith(".service"));
    expect(name).toMatch(/^chronicle-watch-my-100-folder-HOME-[0-9a-f]{8}\.service$/);
    expect(manager.calls).toEqual([
      "systemctl --user is-system-running",
      "systemctl --user daemon-reload",
      `systemctl --user enable ${name}`,
      `systemctl --user restart ${name}`,
      ...manager.calls.filter((call) => call.includes("is-active")),
      expect.stringMatching(/^loginctl show-user \d+ --property=Linger$/),
    ]);
    const [pid] = manager.started;
    expect(recording(folder)).toMatchObject({ state: "everything", by: [{ kind: "watch", pid }] });
    writeFileSync(join(folder, "a"), "2");
    await vi.waitUntil(() => run("-C", folder, "history", "a").stdout.trimEnd().split("\n").length > 1, soon);
    expect(run("-C", folder, "doctor").stdout).toMatch(/ok {3}recording: watch since .*; an edit was recorded after/);
    expect(must("watch", "--list").stdout).toMatch(/ active +chronicle-watch-my-100-folder-HOME-/);
    expect(must("watch", "--install", folder).stdout).toMatch(/^is installed already: .*recording since/);
    expect(manager.started).toEqual([pid]);

    expect(must("watch", "--uninstall", folder).stdout).toContain("removed: the watch of ");
    expect(configured()).toEqual(before);
    expect(manager.output).toMatch(/^recorded 1 change; see: chronicle .* show /m);
    expect(recording(folder)).toMatchObject({ state: "nothing", by: [] });
    expect(run("watch", "--uninstall", folder)).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("no watch is installed for") as unknown,
    });
  });

  it("starts again after a kill, and when the program is upgraded in place; ends for good by SIGTERM", async () => {
    must("watch", "--install", ".");
    const [first = 0] = manager.started;
    process.kill(first, "SIGKILL");
    await vi.waitUntil(() => recording(box.project).state === "everything", soon);
    const second = manager.started.at(-1) ?? 0;
    expect(second).not.toBe(first);
    const code = join(dirname(dirname(chronicleBin())), "dist");
    const now = new Date();
    for (const file of readdirSync(code)) utimesSync(join(code, file), now, now);
    await vi.waitUntil(() => manager.output.includes("the program was replaced"), soon);
    await vi.waitUntil(() => manager.started.length > 2 && recording(box.project).state === "everything", soon);
    const third = manager.started.at(-1) ?? 0;
    process.kill(third, "SIGTERM");
    await vi.waitUntil(() => recording(box.project).state === "nothing", soon);
    const { reason, hint } = recording(box.project);
    expect([reason, hint]).toEqual([
      expect.stringContaining("the watch that is installed for this folder does not run"),
      expect.stringMatching(/journalctl --user -u chronicle-watch-project-\w+.*systemctl --user restart/),
    ]);
    expect(manager.started).toHaveLength(3);
    expect(run("doctor").stdout).toContain("BAD  recording: NOT RECORDING: the watch that is installed");
  });

  it("installs nothing where no user manager runs, and says so", () => {
    manager.set("state", "Failed to connect to bus: No medium found");
    const ran = run("watch", "--install", ".");
    expect(ran.code).toBe(1);
    expect(ran.stderr).toContain(
      "nothing was installed: no systemd user manager runs for you here (systemctl --user: Failed to connect to bus: No medium found)",
    );
    expect(ran.stderr).toContain("setsid chronicle -C ");
    expect([configured(), existsSync(box.store)]).toEqual([[], false]);
    const none = box.run(["watch", "--install", "."], { env: { PATH: join(box.folder, "home") } });
    expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining("there is no systemctl") as unknown });
  });

  it.each(["enable", "restart", "daemon-reload"])("leaves nothing half installed if `%s` fails", (verb) => {
    manager.set("failing", verb);
    const ran = run("watch", "--install", ".");
    expect([ran.code, ran.stderr]).toEqual([1, expect.stringContaining(`${verb} was refused. (exit code 1)`)]);
    expect([configured(), manager.started]).toEqual([[], []]);
  });

  it("renews a unit of an earlier installation, which stays as it was if that fails", () => {
    must("watch", "--install", ".");
    const [name = ""] = readdirSync(units).filter((file) => file.endsWith(".service"));
    const earlier = readFileSync(join(units, name), "utf8").replace("RestartSec=5", "RestartSec=1");
    writeFileSync(join(units, name), earlier);
    manager.set("failing", "restart");
    expect(run("watch", "--install", ".").code).toBe(1);
    expect(readFileSync(join(units, name), "utf8")).toBe(earlier);
    manager.set("failing", "");
    expect(must("watch", "--install", ".").stdout).toMatch(/^renewed: .*recording since/);
    expect(readFileSync(join(units, name), "utf8")).not.toBe(earlier);
  });

  it("leaves nothing installed if the service cannot run", () => {
    must("init");
    // Only a service has this variable.
    const [node = "", bin = ""] = box.command;
    const broken = join(dirname(dirname(bin)), "dist", "cli.js");
    const text = readFileSync(broken, "utf8");
    const env = { ...box.env(), PATH: `${manager.bin}:${process.env["PATH"] ?? ""}` };
    writeFileSync(broken, `if (process.env.CHRONICLE_WATCH_SERVICE) process.exit(9);\n${text}`);
    const ran = spawnSync(node, [bin, "watch", "--install", "."], { cwd: box.project, env, encoding: "utf8" });
    writeFileSync(broken, text);
    expect([ran.status, ran.stderr]).toEqual([1, expect.stringContaining("was started, and ended again")]);
    expect(configured()).toEqual([]);
  });

  it("removes only what it has made: another unit, and folders that were there, stay", () => {
    mkdirSync(units, { recursive: true });
    writeFileSync(join(units, "other.service"), "[Unit]\n");
    must("watch", "--install", ".");
    manager.set("state", "offline");
    const { stdout } = must("watch", "--uninstall", ".");
    expect(stdout).toContain("note: no systemd user manager runs for you here (systemctl --user: offline), so nothing");
    expect(configured()).toEqual(["systemd", "systemd/user", "systemd/user/other.service"]);
  });

  it("does not overwrite a file that somebody else has made", () => {
    must("watch", "--install", ".");
    const [name = ""] = readdirSync(units).filter((file) => file.endsWith(".service"));
    writeFileSync(join(units, name), "[Service]\nExecStart=/bin/true\n");
    const ran = run("watch", "--install", ".");
    expect([ran.code, ran.stderr]).toEqual([6, expect.stringContaining("Chronicle has not made it")]);
  });

  it("prints the unit without writing it, which systemd accepts", () => {
    const folder = join(box.folder, STRANGE);
    mkdirSync(folder);
    const { stdout } = must("watch", "--install", "--dry-run", folder);
    expect([configured(), manager.calls]).toEqual([[], []]);
    const file = join(box.folder, "chronicle-watch-trial.service");
    writeFileSync(file, stdout);
    const env = { ...process.env, XDG_RUNTIME_DIR: box.folder };
    const checked = spawnSync("systemd-analyze", ["--user", "verify", file], { env, encoding: "utf8" });
    // Without systemd's own check, the unit is only read by the scripted manager.
    if (checked.error !== undefined) return;
    expect([checked.status, checked.stdout, checked.stderr]).toEqual([0, "", ""]);
  });

  it("records the whole workspace around a folder, which --uninstall finds by any of its folders", () => {
    mkdirSync(join(box.project, "inner"));
    must("init");
    const ran = must("watch", "--install", "inner");
    expect(ran.stderr).toContain("which is recorded as a whole");
    expect(ran.stdout).toContain(`installed: ${realpathSync(box.project)};`);
    must("watch", "--uninstall", "inner");
    expect(configured()).toEqual([]);
  });

  it("is refused to an agent, and to words that do not fit together", () => {
    const as = (role: string, ...args: readonly string[]) => box.run(args, { env: { CHRONICLE_ROLE: role } });
    expect(as("agent", "watch", "--install", ".").code).toBe(6);
    expect(as("agent", "watch", "--uninstall", ".").code).toBe(6);
    for (const args of [["."], ["--install"], ["--install", "--uninstall", "."], ["--dry-run"], ["--list", "."]]) {
      expect([args, run("watch", ...args).code]).toEqual([args, 2]);
    }
    expect(run("watch", "--install", "missing").code).toBe(3);
  });
});
