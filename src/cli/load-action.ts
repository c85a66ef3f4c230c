import type { Action } from "./context.ts";

type Loader = () => Promise<Action>;

/** Each command's code is read only when it is run: a command line should start at once. */
const LOADERS: Readonly<Record<string, Loader>> = {
  actions: async () => (await import("./commands/actions.ts")).actions,
  agents: async () => (await import("./commands/agents.ts")).agents,
  cat: async () => (await import("./commands/cat.ts")).cat,
  changes: async () => (await import("./commands/changes.ts")).changes,
  compact: async () => (await import("./commands/compact.ts")).compact,
  complete: async () => (await import("./commands/complete.ts")).complete,
  completion: async () => (await import("./commands/completion.ts")).completion,
  conflicts: async () => (await import("./commands/conflicts.ts")).conflicts,
  config: async () => (await import("./commands/config.ts")).config,
  diff: async () => (await import("./commands/diff.ts")).diff,
  doctor: async () => (await import("./commands/doctor.ts")).doctor,
  du: async () => (await import("./commands/du.ts")).du,
  erase: async () => (await import("./commands/erase.ts")).erase,
  explain: async () => (await import("./commands/explain.ts")).explain,
  files: async () => (await import("./commands/files.ts")).files,
  forget: async () => (await import("./commands/forget.ts")).forget,
  gc: async () => (await import("./commands/gc.ts")).gc,
  head: async () => (await import("./commands/head.ts")).head,
  history: async () => (await import("./commands/history.ts")).history,
  hook: async () => (await import("./commands/hook.ts")).hook,
  import: async () => (await import("./commands/import.ts")).importRecords,
  init: async () => (await import("./commands/init.ts")).init,
  list: async () => (await import("./commands/list.ts")).list,
  log: async () => (await import("./commands/log.ts")).log,
  manifest: async () => (await import("./commands/manifest.ts")).manifest,
  mcp: async () => (await import("./commands/mcp.ts")).mcp,
  mv: async () => (await import("./commands/mv.ts")).mv,
  pin: async () => (await import("./commands/pin.ts")).pin,
  prune: async () => (await import("./commands/prune.ts")).prune,
  put: async () => (await import("./commands/put.ts")).put,
  rebuild: async () => (await import("./commands/rebuild.ts")).rebuild,
  record: async () => (await import("./commands/record.ts")).record,
  redo: async () => (await import("./commands/redo.ts")).redo,
  replicate: async () => (await import("./commands/replicate.ts")).replicate,
  resolve: async () => (await import("./commands/resolve.ts")).resolve,
  rm: async () => (await import("./commands/rm.ts")).rm,
  rollback: async () => (await import("./commands/rollback.ts")).rollback,
  restore: async () => (await import("./commands/restore.ts")).restore,
  run: async () => (await import("./commands/run.ts")).run,
  serve: async () => (await import("./commands/serve.ts")).serve,
  sessions: async () => (await import("./commands/sessions.ts")).sessions,
  show: async () => (await import("./commands/show.ts")).show,
  snapshot: async () => (await import("./commands/snapshot.ts")).snapshot,
  status: async () => (await import("./commands/status.ts")).status,
  sync: async () => (await import("./commands/sync.ts")).sync,
  token: async () => (await import("./commands/token.ts")).token,
  transaction: async () => (await import("./commands/transaction.ts")).transaction,
  undo: async () => (await import("./commands/undo.ts")).undo,
  unerase: async () => (await import("./commands/erase.ts")).unerase,
  unforget: async () => (await import("./commands/unforget.ts")).unforget,
  unpin: async () => (await import("./commands/pin.ts")).unpin,
  verify: async () => (await import("./commands/verify.ts")).verify,
  versions: async () => (await import("./commands/versions.ts")).versions,
  watch: async () => (await import("./commands/watch.ts")).watch,
  workspaces: async () => (await import("./commands/workspaces.ts")).workspaces,
};

/** The code of a command of the table. */
export function loadAction(name: string): Promise<Action> {
  const load = LOADERS[name];
  if (load === undefined) throw new Error(`the command ${name} is in the table and has no code`);
  return load();
}
