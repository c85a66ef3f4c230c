import { ChronicleError } from "../core/errors.ts";
import { GRACE_MS, type Tombstone } from "../core/tombstone.ts";
import { answer } from "../workspace/answer.ts";
import { openBrackets, type OpenSession } from "../workspace/brackets.ts";
import type { Context } from "../workspace/context.ts";
import { makeFolders } from "./file-head-keeper.ts";
import { openContext, type StoreParts } from "./open-context.ts";
import { removeTree } from "./remove-tree.ts";
import { RootsCache, type ListedWorkspace } from "./roots-cache.ts";
import { storeTasks } from "./store-tasks.ts";
import { SyncTokens } from "./sync-tokens.ts";
import { Tombstones } from "./tombstones.ts";
import { endedName, moveWorkspace, withNames } from "./workspace-names.ts";

/** A history that was forgotten, and can still be brought back. */
export interface ForgottenShape {
  id: string;
  name?: string;
  /** Its first folder; empty: it had none. */
  path: string;
  /** When it was forgotten; `null`: that is not known. */
  forgotten: string | null;
  /** The next `gc` after that frees it; `null`: none does, since its note is gone. */
  until: string | null;
}

/**
 * Forgets a workspace: its folder is moved away, whole, and what is needed to bring it back is noted beside the key. `now`: it is freed
 * at once, and nothing brings it back.
 */
export async function forgetWorkspace(
  parts: StoreParts,
  workspace: ListedWorkspace,
  how: { readonly now: boolean },
): Promise<void> {
  const { id } = workspace;
  if (how.now) await refuseWhileOpen(parts, id);
  const stones = new Tombstones(parts.backends.disk, parts.configFolder);
  const stone = await tombstoneOf(parts, workspace, how.now ? 0 : GRACE_MS);
  const { layout } = parts;
  await withNames(parts, async () => {
    makeFolders(parts.backends.disk, layout.forgotten);
    const to = `${layout.forgotten}/${id}`;
    await moveWorkspace(parts, id, { to, before: () => stones.put(stone) });
    if (how.now) free(parts, stones, stone);
  });
}

async function tombstoneOf(parts: StoreParts, workspace: ListedWorkspace, grace: number): Promise<Tombstone> {
  const { backends, heads, actor, layout } = parts;
  const { id, name, folders } = workspace;
  const [at, kept] = [backends.now(), heads.last(id)];
  const { pid } = backends.processes;
  return {
    id,
    ...(name === undefined ? {} : { name }),
    path: folders[0] ?? "",
    store: layout.home,
    forgotten: new Date(at).toISOString(),
    until: new Date(at + grace).toISOString(),
    head: kept === undefined ? null : { seq: kept.seq, hash: kept.hash },
    by: { pid, ancestors: await backends.processes.ancestors(pid), actor },
  };
}

/** Brings a history back to where it was: by its id, its name, or the unique beginning of its id. Returns its id. */
export function unforgetWorkspace(parts: StoreParts, asked: string): Promise<string> {
  return withNames(parts, async () => {
    const { disk } = parts.backends;
    const one = meantBy(forgottenIn(parts), asked);
    const all = await new RootsCache(disk, parts.layout).list();
    const inTheWay = all.find(
      ({ id, name, folders }) =>
        id === one.id || (name !== undefined && name === one.name) || (one.path !== "" && folders[0] === one.path),
    );
    if (inTheWay !== undefined) throw takenBy(one, inTheWay);
    disk.rename(`${parts.layout.forgotten}/${one.id}`, parts.layout.workspace(one.id).folder);
    disk.syncFolder(parts.layout.workspaces);
    disk.syncFolder(parts.layout.forgotten);
    new Tombstones(disk, parts.configFolder).remove(one.id);
    return one.id;
  });
}

function meantBy(all: readonly ForgottenShape[], asked: string): ForgottenShape {
  const exact = all.find(({ id }) => id === asked) ?? all.find(({ name }) => name === asked);
  const matching = exact === undefined ? all.filter(({ id }) => id.startsWith(asked)) : [exact];
  const [only] = matching;
  const hint = "`chronicle unforget` lists those that can be brought back";
  if (only === undefined || asked === "")
    throw new ChronicleError("NOT_FOUND", `no forgotten history is called ${JSON.stringify(asked)}`, { hint });
  if (matching.length === 1) return only;
  throw new ChronicleError("AMBIGUOUS", `${JSON.stringify(asked)} stands for ${matching.length} histories`, { hint });
}

function takenBy(one: ForgottenShape, { id, name }: ListedWorkspace): ChronicleError {
  const what = name !== undefined && name === one.name ? `is called ${name}` : `is the history of ${one.path}`;
  return new ChronicleError("UNSAFE", `${one.id} stays forgotten: workspace ${id} ${what} now`, {
    hint: `forget that one first, which can be brought back as well: \`chronicle forget ${id}\``,
    data: { workspace: id, forgotten: one.id },
  });
}

/** The histories that can be brought back, by the time at which they were forgotten. */
export function forgottenIn(parts: StoreParts): ForgottenShape[] {
  const stones = new Tombstones(parts.backends.disk, parts.configFolder);
  const shapes = forgottenIds(parts).map((id): ForgottenShape => {
    const { name, path = "", forgotten = null, until = null } = stones.get(id) ?? {};
    return { id, ...(name === undefined ? {} : { name }), path, forgotten, until };
  });
  return shapes.sort((a, b) => (a.forgotten ?? "").localeCompare(b.forgotten ?? ""));
}

/** The workspaces whose folders were moved away. */
function forgottenIds({ backends: { disk }, layout }: StoreParts): string[] {
  if (disk.lstat(layout.forgotten)?.kind !== "dir") return [];
  const folders = disk.list(layout.forgotten).filter(({ kind }) => kind === "dir");
  return folders.map(({ name }) => name.toString());
}

/** Frees the histories whose time is over. One of which nothing is noted stays. */
export async function freeForgotten(parts: StoreParts): Promise<void> {
  const stones = new Tombstones(parts.backends.disk, parts.configFolder);
  const isOver = ({ until }: Tombstone): boolean => Date.parse(until) <= parts.backends.now();
  const over = (): Tombstone[] =>
    forgottenIds(parts)
      .flatMap((id) => stones.get(id) ?? [])
      .filter(isOver);
  if (over().length === 0) return;
  await withNames(parts, async () => {
    for (const stone of over()) free(parts, stones, stone);
  });
}

/** To be called with the lock of names held. What a crash leaves of it is cleared away by the next one who takes that lock. */
function free(parts: StoreParts, stones: Tombstones, stone: Tombstone): void {
  const { backends, layout, configFolder } = parts;
  const { disk } = backends;
  const ended = `${layout.workspaces}/${endedName(stone.id)}`;
  stones.put({ ...stone, freed: new Date(backends.now()).toISOString() });
  disk.rename(`${layout.forgotten}/${stone.id}`, ended);
  disk.syncFolder(layout.workspaces);
  disk.syncFolder(layout.forgotten);
  new SyncTokens(disk, configFolder).remove(stone.id);
  removeTree(disk, ended);
}

/** Throws `REFUSED` while somebody is at work in a workspace. A history that cannot be read names nobody. */
async function refuseWhileOpen(parts: StoreParts, id: string): Promise<void> {
  const open = await openWork(parts, id);
  if (open === undefined) return;
  throw new ChronicleError("REFUSED", `${open} is at work in ${id}, whose history is not given up at once meanwhile`, {
    hint: "end it first (`chronicle sessions` lists them), or leave out --now",
    data: { workspace: id },
  });
}

async function openWork(parts: StoreParts, id: string): Promise<string | undefined> {
  try {
    const { context, close } = await openContext(parts, id, { tasks: storeTasks(parts, id), readOnly: true });
    try {
      return await answer(context, async ({ head }) => {
        const { actions, runs, watches, agents, transactions } = await openBrackets(context, head);
        if (runs.length > 0) return "a run";
        if (watches.length > 0) return "a watch";
        if (agents.some((one) => isGoingOn(context, one)) || actions.length > 0) return "an agent";
        return transactions.length > 0 ? "a transaction" : undefined;
      });
    } finally {
      await close();
    }
  } catch (error) {
    if (error instanceof ChronicleError) return undefined;
    throw error;
  }
}

/** An agent whose process is not known counts as going on: nobody can tell that it has gone. */
function isGoingOn({ processes }: Context, { record: { pid } }: OpenSession): boolean {
  return pid === null || pid <= 0 || processes.isAlive(pid);
}
