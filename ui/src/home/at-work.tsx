import { useQueries } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { RecentItem } from "../../../src/api/recent-api.ts";
import type { RecorderShape, WorkspaceShape } from "../../../src/api/shapes.ts";
import { useApi } from "../data/api.ts";
import { LATELY, recentQuery, recordingQuery } from "../data/queries.ts";
import { workOf, workText } from "../data/work-ref.ts";
import { Actor } from "../parts/actor.tsx";
import { PathText } from "../parts/path-text.tsx";
import { Ago } from "../parts/time.tsx";
import { visible } from "../parts/words.ts";
import { nameOf } from "./workspace-name.ts";

interface Worker {
  readonly key: string;
  readonly shape: WorkspaceShape;
  readonly actor: string;
  readonly who: RecentItem["who"];
  readonly text: string;
  readonly since: string | null;
  /** The timeline's line for the work, if there already is a line. */
  readonly item?: RecentItem | undefined;
}

/** Shows who works in the workspaces at this moment: commands that run, and agents with an open session or turn. */
export function AtWork({ shapes }: { readonly shapes: readonly WorkspaceShape[] }) {
  const { client } = useApi();
  const open = shapes.filter(({ problem }) => problem === undefined);
  const recordings = useQueries({ queries: open.map(({ id }) => recordingQuery(client.workspace(id))) });
  const recents = useQueries({ queries: open.map(({ id }) => recentQuery(client.workspace(id), LATELY, {})) });
  const workers = open.flatMap((shape, i) =>
    workersIn(shape, recordings[i]?.data?.by ?? [], recents[i]?.data?.items ?? []),
  );
  if (workers.length === 0) return null;
  return (
    <section className="at-work" aria-label="At work now">
      <h2>
        <span className="pulse" aria-hidden="true" /> At work now
      </h2>
      <ul>
        {workers.map((one) => (
          <WorkerLine key={one.key} worker={one} />
        ))}
      </ul>
    </section>
  );
}

/** Returns who is at work: open lines of the list, and sessions that have no such line yet. */
function workersIn(shape: WorkspaceShape, by: readonly RecorderShape[], items: readonly RecentItem[]): Worker[] {
  const going = items.filter(({ open }) => open === true);
  const lines = going.map((item) => ({
    ...{ key: `${shape.id} ${item.id}`, shape, actor: item.actor, who: item.who, text: item.summary, item },
    since: by.find(({ session }) => session === item.session)?.since ?? null,
  }));
  const isTold = ({ session }: RecorderShape): boolean => going.some((item) => item.session === session);
  const others = by
    .filter((one) => (one.kind === "run" || one.kind === "agent") && !isTold(one))
    .map(({ kind, actor, session = "", command = [], since }) => ({
      ...{ key: `${shape.id} ${session}`, shape, actor: actor ?? "", since },
      who: kind === "run" ? ("command" as const) : ("agent" as const),
      text: kind === "run" ? command.join(" ") : "an open session",
    }));
  return [...lines, ...others];
}

function WorkerLine({ worker: { shape, actor, who, text, since, item } }: { readonly worker: Worker }) {
  const params = { workspace: shape.id };
  return (
    <li>
      <Actor actor={actor} who={who} />
      {item === undefined ? (
        <span className="work-title">{visible(text)}</span>
      ) : (
        <Link
          to="/w/$workspace/changes"
          params={params}
          search={{ work: workText(workOf(item)), title: item.summary }}
          className="work-title"
        >
          {visible(text)}
        </Link>
      )}
      <Link to="/w/$workspace" params={params} className="at-work-place">
        <PathText path={nameOf(shape)} />
      </Link>
      {since === null ? null : (
        <span className="quiet">
          began <Ago at={since} />
        </span>
      )}
    </li>
  );
}
