import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runCommand, baseEnv } from "./command.ts";
import { freePort } from "./free-port.ts";
import { Background, isInstalled, type SyncPeer } from "./sync-peer.ts";

/** The Syncthing process of one of the two folders. */
interface Device {
  /** The folder for its configuration and database. */
  readonly home: string;
  readonly folder: string;
  readonly id: string;
  /** The port for the other device. */
  readonly port: number;
  /** The port of the web interface. */
  readonly gui: number;
}

/**
 * Two Syncthing processes on loopback, without discovery and relays. `delay`: the time from a change until Syncthing
 * handles it, in seconds. Its minimum is 1, and its default is 10.
 */
export function syncthingPeer(delay: number): SyncPeer {
  return {
    name: `syncthing, delay ${delay} s`,
    missing: () => (isInstalled("syncthing") ? undefined : "syncthing"),
    async start({ from, to, home }) {
      const one = await deviceIn(join(home, "one"), from);
      const other = await deviceIn(join(home, "other"), to);
      const stack = new AsyncDisposableStack();
      for (const device of [one, other]) {
        writeFileSync(join(device.home, "config.xml"), configOf(device, [one, other], delay));
        // Syncthing needs this marker. Without the marker it stops, so that it does not delete all files on the other
        // side when a folder is missing. In its default setup, it makes the marker itself.
        mkdirSync(join(device.folder, ".stfolder"), { recursive: true });
        const argv = ["syncthing", "serve", `--home=${device.home}`, "--no-browser", "--no-restart", "--no-upgrade"];
        stack.use(new Background(argv, device.home, { env: { STNORESTART: "1" } }));
      }
      return stack;
    },
  };
}

async function deviceIn(home: string, folder: string): Promise<Device> {
  mkdirSync(home);
  const run = (...args: string[]) =>
    runCommand({ argv: ["syncthing", ...args, `--home=${home}`], cwd: home, env: baseEnv(home) });
  run("generate", "--no-default-folder");
  const id = run("serve", "--device-id").trim();
  return { home, folder, id, port: await freePort(), gui: await freePort() };
}

function configOf(own: Device, all: readonly Device[], delay: number): string {
  const devices = all.map(
    ({ id, port }) => `  <device id="${id}" name="${port}"><address>tcp://127.0.0.1:${port}</address></device>`,
  );
  const ids = all.map(({ id }) => `    <device id="${id}"></device>`);
  return `<configuration version="35">
  <folder id="bench" label="bench" path="${own.folder}" type="sendreceive" rescanIntervalS="3600" fsWatcherEnabled="true" fsWatcherDelayS="${delay}">
    <filesystemType>basic</filesystemType>
${ids.join("\n")}
  </folder>
${devices.join("\n")}
  <gui enabled="true" tls="false"><address>127.0.0.1:${own.gui}</address><apikey>bench</apikey></gui>
  <options>
    <listenAddress>tcp://127.0.0.1:${own.port}</listenAddress>
    <globalAnnounceEnabled>false</globalAnnounceEnabled>
    <localAnnounceEnabled>false</localAnnounceEnabled>
    <relaysEnabled>false</relaysEnabled>
    <natEnabled>false</natEnabled>
    <urAccepted>-1</urAccepted>
    <crashReportingEnabled>false</crashReportingEnabled>
    <autoUpgradeIntervalH>0</autoUpgradeIntervalH>
    <startBrowser>false</startBrowser>
  </options>
</configuration>
`;
}
