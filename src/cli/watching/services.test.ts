import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { Project } from "../../../test/helpers/project.ts";
import { launchdAgent, readLaunchdAgent } from "./launchd-agent.ts";
import { planWatch } from "./install-watch.ts";
import { serviceManager } from "./service-manager.ts";
import { readSystemdUnit, systemdUnit } from "./systemd-unit.ts";
import { serviceName, type WatchService } from "./watch-service.ts";

const FOLDER = '/a/100% "of" $HOME \\ <&> ü\n\u0007;x\\';
const service: WatchService = {
  folder: FOLDER,
  command: ["/opt/no de/$x/node", "/p/chronicle.js", "-C", FOLDER, "watch"],
  env: { XDG_CONFIG_HOME: '/c 100%/$HOME/"' },
  made: ["/made"],
};

describe("a systemd unit", () => {
  const unit = systemdUnit(service);
  const valueOf = (key: string): string => unit.split("\n").find((line) => line.startsWith(`${key}=`)) ?? "";

  it("quotes words as systemd reads them: escapes, no specifier, no variable but in the program's path", () => {
    expect(valueOf("ExecStart")).toBe(
      String.raw`ExecStart="/opt/no de/$x/node" "/p/chronicle.js" "-C" "/a/100%% \"of\" $$HOME \\ <&> ü\n\x07;x\\" "watch"`,
    );
    expect(valueOf("Environment")).toBe(String.raw`Environment="XDG_CONFIG_HOME=/c 100%%/$HOME/\""`);
    // A backslash at the end of a line would continue it in the next one.
    expect(unit.split("\n").filter((line) => line.endsWith("\\"))).toEqual([]);
  });

  it("restarts after failures, ends cleanly, and starts with the user manager", () => {
    expect(valueOf("Restart")).toBe("Restart=on-failure");
    expect(valueOf("StartLimitIntervalSec")).toBe("StartLimitIntervalSec=0");
    expect([valueOf("SuccessExitStatus"), valueOf("RestartForceExitStatus")]).toEqual([
      "SuccessExitStatus=75",
      "RestartForceExitStatus=75",
    ]);
    expect(valueOf("WantedBy")).toBe("WantedBy=default.target");
  });

  it("names its folder for the uninstallation; another unit does not", () => {
    expect(readSystemdUnit(unit)).toEqual({ folder: FOLDER, made: ["/made"] });
    expect(readSystemdUnit("[Service]\nExecStart=/bin/true\nFacts=[1]\n")).toBeUndefined();
  });
});

describe("a launchd agent", () => {
  const plain = {
    ...service,
    folder: FOLDER.replace("\u0007", ""),
    command: ["/n", "-C", FOLDER.replace("\u0007", "")],
  };
  const text = launchdAgent("chronicle-watch-x", plain);

  it("names its folder for the uninstallation", () => {
    expect(readLaunchdAgent(text)).toEqual({ folder: plain.folder, made: ["/made"] });
    expect(readLaunchdAgent("<plist></plist>")).toBeUndefined();
  });
});

describe("the name of a service", () => {
  it("is the folder's name, and differs for folders of the same name", () => {
    expect(serviceName("/a/my project!")).toMatch(/^chronicle-watch-my-project-[0-9a-f]{8}$/);
    expect(serviceName("/")).toMatch(/^chronicle-watch-folder-[0-9a-f]{8}$/);
    expect(serviceName("/a/x")).not.toBe(serviceName("/b/x"));
  });
});

it("a service cannot be installed on another system", () => {
  expect(() => serviceManager({ env: {}, userHome: "/home", platform: "freebsd", uid: 1 })).toThrow(/freebsd/);
});

it("a file of the same name that somebody else has made is refused", async () => {
  await using project = new Project();
  const env = { HOME: project.base };
  const systemd = serviceManager({ env, userHome: project.base, platform: "linux", uid: 1 });
  const asked = { folder: project.folder, command: ["/bin/node"], env: {} };
  const { file, text, before } = planWatch(systemd, asked);
  expect([before, existsSync(file)]).toEqual([undefined, false]);
  mkdirSync(systemd.folder, { recursive: true });
  writeFileSync(file, text);
  // The folders are there now, and the installed unit has noted who made them.
  expect(planWatch(systemd, asked).before).toBe(text);
  expect(readFileSync(file, "utf8")).toBe(planWatch(systemd, asked).text);
  writeFileSync(file, "[Unit]\n");
  expect(() => planWatch(systemd, asked)).toThrow(/Chronicle has not made it/);
});
