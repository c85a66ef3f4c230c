import { dirname, resolve } from "node:path";
import type { DoctorCheck } from "../../api/store-api.ts";
import { ChronicleError, codedError } from "../../core/values/errors.ts";
import type { Disk } from "../../disk/disk.ts";
import { NodeDisk } from "../../disk/node-disk.ts";
import { isAnswered } from "../../daemon/ask-server.ts";
import { orNothing, procText } from "../../daemon/agent-process.ts";
import { folderTrouble, isOwnAddress, ownUid, type RunFolder, runFolder } from "../../daemon/run-folder.ts";
import type { Io } from "../../process/io.ts";
import { counted } from "../render/words.ts";
import { agentStatus, recentTroubles } from "./agent-status.ts";
import { AGENT_CONFIGS } from "./agent-table.ts";
import type { HookPlaces } from "./hook-script.ts";
import { quotePath } from "../../core/shell/quote-command.ts";

const WATCHES = "/proc/sys/fs/inotify/max_user_watches";
const INSTANCES = "/proc/sys/fs/inotify/max_user_instances";
/** The minimum limit on inotify watches. A lower limit is too low for most projects. */
const FEW_WATCHES = 8_192;

/**
 * Runs the checks of `doctor` that are not about the store. These checks are about the agents' hooks, the diagnostics
 * of the last day, the private folders, the server's socket and the system's limits on inotify watches. The check of
 * the limits is left out if the system reports none.
 */
export async function agentChecks(io: Io, places: HookPlaces): Promise<DoctorCheck[]> {
  const disk = new NodeDisk();
  const run = runFolder(disk, { env: io.env, home: places.home, uid: ownUid() });
  return [
    ...hookChecks(io, places),
    ...(await triedAll("hook calls", () => troubleChecks(io, places))),
    await tried("configuration", () => privacyCheck(disk, "configuration", places.configFolder)),
    await tried("run folder", () => privacyCheck(disk, "run folder", run.folder)),
    await tried("socket folder", () => privacyCheck(disk, "socket folder", dirname(socketOf(disk, run)))),
    await tried("socket", () => socketCheck(disk, run, io.version)),
    ...watchChecks(disk),
  ];
}

/**
 * Runs a check. If the check throws a `ChronicleError` or a system error, returns a failed check, so that the other
 * checks still run.
 */
async function tried(name: string, check: () => DoctorCheck | Promise<DoctorCheck>): Promise<DoctorCheck> {
  const [made] = await triedAll(name, async () => [await check()]);
  return made;
}

type Checks = readonly [DoctorCheck, ...DoctorCheck[]];

async function triedAll(name: string, checks: () => Checks | Promise<Checks>): Promise<Checks> {
  try {
    return await checks();
  } catch (thrown) {
    const error = codedError(thrown);
    if (!(error instanceof ChronicleError)) throw error;
    return [{ name, ok: false, detail: error.message, hint: error.hint ?? "fix what the message names" }];
  }
}

/** Returns a check for each agent and scope. If a file is unreadable, only the checks that need this file fail. */
function hookChecks(io: Io, places: HookPlaces): DoctorCheck[] {
  return AGENT_CONFIGS.flatMap((agent) =>
    (["user", "project"] as const).map((scope): DoctorCheck => {
      const name = `hooks of ${agent.title} (${scope})`;
      const base = { scope, env: io.env, userHome: io.userHome, project: io.cwd() };
      try {
        const status = agentStatus(io, agent, { base, places });
        const [problem] = status.problems;
        if (problem !== undefined) return { name, ok: false, detail: problem.what, hint: problem.hint };
        if (status.state === "partly") {
          const missing = status.files.filter((file) => !file.installed).map((file) => file.path);
          const hint = `chronicle agents install ${agent.name}${scope === "project" ? " --project" : ""}`;
          return { name, ok: false, detail: `missing in ${missing.join(", ")}`, hint };
        }
        const heard = status.last_call === null ? "never called" : `last called ${status.last_call}`;
        return { name, ok: true, detail: status.state === "installed" ? heard : "not installed" };
      } catch (error) {
        const detail = error instanceof Error ? error.message : String(error);
        return { name, ok: false, detail, hint: "mend that file" };
      }
    }),
  );
}

/**
 * Returns checks of the diagnostics of the last day. The check of hooks is always included. The checks of the
 * long-lived process, of replicas and of refused agents are included only if there are diagnostics about them.
 */
function troubleChecks(io: Io, places: HookPlaces): Checks {
  const { lines, file } = recentTroubles(io, places);
  const hint = `fix what the last line names; ${file} has all lines, and may be removed`;
  const trouble = (name: string, of: readonly string[]): DoctorCheck[] => {
    if (of.length === 0) return [];
    return [{ name, ok: false, detail: `${counted(of.length, "trouble")} in the last day; ${lastOf(of)}`, hint }];
  };
  const [hooks = { name: "hook calls", ok: true, detail: "no trouble in the last day" }] = trouble(
    "hook calls",
    lines.hook,
  );
  return [
    hooks,
    ...trouble("long-lived process", lines.process),
    ...replicaNotes(lines.replica, file),
    ...refusalNotes(lines.caller, file),
  ];
}

/** Reports the diagnostics about replicas. The check does not fail, because a replica may send false reports. */
function replicaNotes(lines: readonly string[], file: string): DoctorCheck[] {
  if (lines.length === 0) return [];
  const detail = `${counted(lines.length, "note")} about replicas in the last day (${file}), as the replicas reported; ${lastOf(lines)}`;
  return [{ name: "replicas", ok: true, detail }];
}

/**
 * Reports the diagnostics about calls that were refused because an agent may not make them. Only calls that name no
 * workspace are in the diagnostics. The check does not fail.
 */
function refusalNotes(lines: readonly string[], file: string): DoctorCheck[] {
  if (lines.length === 0) return [];
  const detail = `${counted(lines.length, "note")} about refused agents in the last day (${file}); ${lastOf(lines)}`;
  return [{ name: "refusals", ok: true, detail }];
}

function lastOf(lines: readonly string[]): string {
  return `the last: ${lines.at(-1)?.slice(0, 300) ?? ""}`;
}

function privacyCheck(disk: Disk, name: string, folder: string): DoctorCheck {
  const trouble = folderTrouble(disk, folder, ownUid());
  if (trouble !== undefined) return { name, ok: false, detail: `${folder} ${trouble.what}`, hint: trouble.hint };
  const isThere = disk.lstat(folder) !== undefined;
  return { name, ok: true, detail: isThere ? folder : `${folder} is made at first use` };
}

/**
 * Checks that the store's socket is private and that a server answers on it. If there is no socket, the check does not
 * fail, because the next hook starts a server. If there is a socket but no server answers on it, every hook is slow
 * until the next server replaces the socket.
 */
async function socketCheck(disk: Disk, run: RunFolder, version: string): Promise<DoctorCheck> {
  const name = "socket";
  const address = disk.lstat(run.address);
  if (address === undefined) return { name, ok: true, detail: "no process is running; the next hook starts one" };
  const socket = socketOf(disk, run);
  if (disk.lstat(dirname(socket)) !== undefined && !isOwnAddress(disk, run, ownUid())) {
    const detail = `${run.address} leads to a folder that is not private to this user: Chronicle asks no process on this socket`;
    return { name, ok: false, detail, hint: `rm ${quotePath(run.address)}` };
  }
  if (disk.lstat(socket) === undefined) {
    const detail = `${run.address} leads to ${socket}, which is not there: no process is running`;
    const hint = `nothing is lost; the next hook starts a process and mends the link; or remove the link: rm ${quotePath(run.address)}`;
    return { name, ok: false, detail, hint };
  }
  if (!(await isAnswered(run.address, version))) {
    const hint = `nothing is lost, and hooks are only slower; the next hook starts a process, or: rm ${quotePath(run.address)}`;
    return { name, ok: false, detail: `nobody answers on ${run.address}`, hint };
  }
  const mode = disk.lstat(socket)?.mode ?? 0o600;
  if ((mode & 0o077) !== 0) {
    const detail = `${socket} may be used by others (${mode.toString(8)})`;
    return { name, ok: false, detail, hint: `chmod 600 ${quotePath(socket)}` };
  }
  return { name, ok: true, detail: `answered on ${socket}` };
}

/**
 * Returns the path of the store's socket. This is the address in the store or, if the address is a link, the link's
 * target. If nothing is at the address, returns the path at which the next server creates its socket.
 */
function socketOf(disk: Disk, { address, socket }: RunFolder): string {
  const kind = disk.lstat(address)?.kind;
  if (kind === undefined) return socket;
  return kind === "symlink" ? resolve(dirname(address), disk.readlink(address).toString()) : address;
}

function watchChecks(disk: Disk): DoctorCheck[] {
  const most = limitOf(disk, WATCHES);
  const instances = limitOf(disk, INSTANCES);
  if (most === undefined || instances === undefined) return [];
  const used = watchesInUse(disk);
  const detail = `${used.watches} of ${most} in use by this user, ${used.instances} of ${instances} instances`;
  return [watchCheck({ detail, most, instances, used })];
}

/**
 * Returns the check of the limits on inotify watches (`most`) and inotify instances (`instances`). The check fails if
 * `most` is below `FEW_WATCHES`, if over 90 % of the watches are in use, or if all instances are in use. `detail`: the
 * text of the check.
 */
export function watchCheck(counts: {
  readonly detail: string;
  readonly most: number;
  readonly instances: number;
  readonly used: { readonly watches: number; readonly instances: number };
}): DoctorCheck {
  const { detail, most, instances, used } = counts;
  const name = "watches";
  const isShort = most < FEW_WATCHES || used.watches > most * 0.9;
  if (isShort) {
    const hint =
      "without enough watches, whole folders are scanned, which is slower; to allow more, as root: sysctl " +
      "fs.inotify.max_user_watches=524288";
    return { name, ok: false, detail, hint };
  }
  if (used.instances >= instances) {
    return {
      name,
      ok: false,
      detail,
      hint: "to allow more instances, as root: sysctl fs.inotify.max_user_instances=1024",
    };
  }
  return { name, ok: true, detail };
}

function limitOf(disk: Disk, path: string): number | undefined {
  const text = procText(disk, path);
  return text === undefined ? undefined : Number.parseInt(text, 10);
}

/**
 * Counts the inotify watches and instances of this user's processes. `/proc/<pid>/fdinfo/<fd>` has a line `inotify
 * wd:…` for each watch. The processes of other users are not counted, because only root can read their files.
 */
function watchesInUse(disk: Disk): { watches: number; instances: number } {
  const used = { watches: 0, instances: 0 };
  for (const process of namesIn(disk, "/proc").filter((name) => /^\d+$/.test(name))) {
    for (const fd of namesIn(disk, `/proc/${process}/fd`)) {
      const link = readLink(disk, `/proc/${process}/fd/${fd}`);
      if (link !== "anon_inode:inotify") continue;
      used.instances += 1;
      used.watches += (procText(disk, `/proc/${process}/fdinfo/${fd}`) ?? "")
        .split("\n")
        .filter((line) => line.startsWith("inotify ")).length;
    }
  }
  return used;
}

function namesIn(disk: Disk, folder: string): string[] {
  return orNothing(() => disk.list(folder).map((item) => item.name.toString())) ?? [];
}

function readLink(disk: Disk, path: string): string | undefined {
  return orNothing(() => disk.readlink(path).toString());
}
