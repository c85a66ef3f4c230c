import type { Action } from "./support/context.ts";

type Loader = () => Promise<Action>;

/** Each command's code is loaded only when it is run, so that a command line starts at once. */
const LOADERS: Readonly<Record<string, Loader>> = {
  actions: async () => (await import("./commands/look/actions.ts")).actions,
  agents: async () => (await import("./commands/serve/agents.ts")).agents,
  cat: async () => (await import("./commands/look/cat.ts")).cat,
  changes: async () => (await import("./commands/look/changes.ts")).changes,
  compact: async () => (await import("./commands/keep/compact.ts")).compact,
  complete: async () => (await import("./commands/serve/complete.ts")).complete,
  completion: async () => (await import("./commands/serve/completion.ts")).completion,
  conflicts: async () => (await import("./commands/look/conflicts.ts")).conflicts,
  config: async () => (await import("./commands/keep/config.ts")).config,
  diff: async () => (await import("./commands/look/diff.ts")).diff,
  doctor: async () => (await import("./commands/look/doctor.ts")).doctor,
  du: async () => (await import("./commands/look/du.ts")).du,
  erase: async () => (await import("./commands/keep/erase.ts")).erase,
  explain: async () => (await import("./commands/look/explain.ts")).explain,
  files: async () => (await import("./commands/look/files.ts")).files,
  forget: async () => (await import("./commands/keep/forget.ts")).forget,
  gc: async () => (await import("./commands/keep/gc.ts")).gc,
  head: async () => (await import("./commands/look/head.ts")).head,
  history: async () => (await import("./commands/look/history.ts")).history,
  hook: async () => (await import("./commands/serve/hook.ts")).hook,
  import: async () => (await import("./commands/keep/import.ts")).importRecords,
  init: async () => (await import("./commands/change/init.ts")).init,
  list: async () => (await import("./commands/look/list.ts")).list,
  log: async () => (await import("./commands/look/log.ts")).log,
  manifest: async () => (await import("./commands/look/manifest.ts")).manifest,
  mcp: async () => (await import("./commands/serve/mcp.ts")).mcp,
  mv: async () => (await import("./commands/change/mv.ts")).mv,
  pin: async () => (await import("./commands/keep/pin.ts")).pin,
  prune: async () => (await import("./commands/keep/prune.ts")).prune,
  put: async () => (await import("./commands/change/put.ts")).put,
  rebuild: async () => (await import("./commands/keep/rebuild.ts")).rebuild,
  record: async () => (await import("./commands/keep/record.ts")).record,
  redo: async () => (await import("./commands/change/redo.ts")).redo,
  replicate: async () => (await import("./commands/serve/replicate.ts")).replicate,
  resolve: async () => (await import("./commands/change/resolve.ts")).resolve,
  rm: async () => (await import("./commands/change/rm.ts")).rm,
  rollback: async () => (await import("./commands/change/rollback.ts")).rollback,
  restore: async () => (await import("./commands/change/restore.ts")).restore,
  run: async () => (await import("./commands/change/run.ts")).run,
  serve: async () => (await import("./commands/serve/serve.ts")).serve,
  sessions: async () => (await import("./commands/look/sessions.ts")).sessions,
  show: async () => (await import("./commands/look/show.ts")).show,
  snapshot: async () => (await import("./commands/change/snapshot.ts")).snapshot,
  status: async () => (await import("./commands/look/status.ts")).status,
  sync: async () => (await import("./commands/serve/sync.ts")).sync,
  token: async () => (await import("./commands/serve/token.ts")).token,
  transaction: async () => (await import("./commands/change/transaction.ts")).transaction,
  undo: async () => (await import("./commands/change/undo.ts")).undo,
  unerase: async () => (await import("./commands/keep/erase.ts")).unerase,
  unforget: async () => (await import("./commands/keep/unforget.ts")).unforget,
  unpin: async () => (await import("./commands/keep/pin.ts")).unpin,
  verify: async () => (await import("./commands/look/verify.ts")).verify,
  versions: async () => (await import("./commands/look/versions.ts")).versions,
  watch: async () => (await import("./commands/change/watch.ts")).watch,
  workspaces: async () => (await import("./commands/look/workspaces.ts")).workspaces,
};

/** The code of a command of the table. */
export function loadAction(name: string): Promise<Action> {
  const load = LOADERS[name];
  if (load === undefined) throw new Error(`the command ${name} is in the table and has no code`);
  return load();
}
