import type { LogEventShape } from "../../api/shapes.ts";

/** What a session did that ran at a replica, as the origin's events tell it. */
export interface ReplicaSession {
  readonly id: string;
  /** The replica's id. */
  readonly replica: string;
  /** Whose work it was last. */
  readonly actor: string;
  /** ISO-8601: when its last change came to the origin. */
  readonly last: string;
  /** The event of that. */
  readonly seq: number;
  /** Paths. */
  readonly changed: number;
}

/**
 * The sessions of replicas in events of an origin's log, newest first, however the events are ordered: no event but those of its
 * changes speaks of such a session.
 */
export function replicaSessions(events: readonly LogEventShape[]): ReplicaSession[] {
  const found = new Map<string, ReplicaSession & { readonly paths: Set<string> }>();
  for (const event of events.toSorted((a, b) => a.seq - b.seq)) {
    const said = saidOf(event.record);
    if (said === undefined) continue;
    const key = `${said.replica} ${said.id}`;
    const paths = (found.get(key)?.paths ?? new Set()).add(event.record_id);
    found.set(key, { ...said, last: event.ts, seq: event.seq, changed: paths.size, paths });
  }
  return [...found.values()].map(({ paths: _paths, ...one }) => one).toSorted((a, b) => b.seq - a.seq);
}

function saidOf(record: unknown): Pick<ReplicaSession, "id" | "replica" | "actor"> | undefined {
  const [id, actor] = [textIn(record, "session"), textIn(record, "actor")];
  const replica = textIn(fieldOf(record, "replica"), "id");
  return id === undefined || replica === undefined ? undefined : { id, replica, actor: actor ?? "" };
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

function textIn(value: unknown, name: string): string | undefined {
  const found = fieldOf(value, name);
  return typeof found === "string" ? found : undefined;
}
