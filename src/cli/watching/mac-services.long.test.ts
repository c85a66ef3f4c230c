import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Project } from "../../../test/helpers/project.ts";
import { UserManager } from "../../../test/helpers/user-manager.ts";
import { installedFor, planWatch, removeWatch, startWatch } from "./install-watch.ts";
import { installedWatches } from "./installed-watches.ts";
import { launchdAgent } from "./launchd-agent.ts";
import { serviceManager } from "./service-manager.ts";
import { serviceName } from "./watch-service.ts";

it("an agent's file is a property list with the words as they are", () => {
  const folder = '/a/100% "of" $HOME \\ <&> ü\n;x';
  const words = { folder, command: ["/n", "-C", folder], env: { XDG_CONFIG_HOME: "/c&<d>" }, made: ["/made"] };
  const script = "import json, plistlib, sys; print(json.dumps(plistlib.loads(sys.stdin.buffer.read())))";
  const input = launchdAgent("chronicle-watch-x", words);
  const { stdout } = spawnSync("python3", ["-c", script], { input, encoding: "utf8" });
  expect(JSON.parse(stdout)).toMatchObject({
    Label: "chronicle-watch-x",
    ProgramArguments: words.command,
    EnvironmentVariables: words.env,
    RunAtLoad: true,
    KeepAlive: { SuccessfulExit: false },
  });
});

/** The agent of a project on a machine with macOS, whose `launchctl` is scripted. */
async function onMac(project: Project, manager: UserManager) {
  const env = { PATH: `${manager.bin}:${process.env["PATH"] ?? ""}`, HOME: project.base };
  const launchd = serviceManager({ env, userHome: project.base, platform: "darwin", uid: 501 });
  const workspace = await project.init();
  const asked = { folder: project.folder, command: ["/bin/node", "watch"], env: {} };
  const start = () => startWatch(planWatch(launchd, asked), { manager: launchd, workspace, now: () => Date.now() });
  return { launchd, workspace, start };
}

describe("a watch on macOS", () => {
  it("is loaded and unloaded by launchctl, and leaves nothing behind", async () => {
    await using project = new Project();
    using manager = new UserManager(project.base);
    const { launchd, workspace, start } = await onMac(project, manager);
    const name = serviceName(project.folder);
    const label = `gui/501/${name}`;
    const file = join(project.base, "Library/LaunchAgents", `${name}.plist`);
    const starting = start();
    const recording = await workspace.watch();
    expect((await starting).recorder).toMatchObject({ kind: "watch", session: recording.sessionId });
    expect(installedWatches(launchd)).toMatchObject([{ folder: project.folder, file, name }]);
    expect([await launchd.lacking(), await launchd.stateOf(name)]).toEqual([undefined, "active"]);
    expect(await removeWatch(launchd, installedFor(launchd, [project.folder]))).toBeUndefined();
    expect(existsSync(join(project.base, "Library"))).toBe(false);
    const changes = manager.calls.filter((call) => !call.startsWith("launchctl print"));
    expect(changes).toEqual([
      `launchctl bootout ${label}`,
      `launchctl bootstrap gui/501 ${file}`,
      `launchctl bootout ${label}`,
    ]);
  });

  it("is not left half installed if launchctl refuses it, and needs a login session", async () => {
    await using project = new Project();
    using manager = new UserManager(project.base);
    const { launchd, start } = await onMac(project, manager);
    mkdirSync(join(project.base, "Library"));
    manager.set("failing", "bootstrap");
    await expect(start()).rejects.toThrow(/launchctl bootstrap .*failed: Failed: bootstrap was refused/);
    expect(readdirSync(join(project.base, "Library"))).toEqual([]);
    manager.set("failing", "");
    manager.set("state", "none");
    expect(await launchd.lacking()).toMatchObject({ what: expect.stringContaining("no login session") as unknown });
  });
});
