import { useQueries, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { CircleCheck, Info, TriangleAlert } from "lucide-react";
import type { WorkspaceShape } from "../../../src/api/shapes.ts";
import { useApi } from "../data/api.ts";
import { conflictsQuery, recordingQuery, replicasQuery, useSyncs } from "../data/queries.ts";
import { lastCheck } from "../integrity/last-check.ts";
import { Command } from "../parts/command.tsx";
import { PathText } from "../parts/path-text.tsx";
import { useNow } from "../parts/time.tsx";
import { counted, visible } from "../parts/words.ts";
import { doctorMatters, type Known, type Matter, mattersOf, ranked, syncMatters } from "./attention.ts";
import { nameOf } from "./workspace-name.ts";

/** The maximum number of matters that are shown at once. A person must unfold the others. */
const MOST = 6;

/** Shows the matters that need a person's attention, or that all is well. */
export function Health({ shapes }: { readonly shapes: readonly WorkspaceShape[] }) {
  const { client } = useApi();
  const { data: doctor } = useQuery({
    queryKey: ["store", "doctor"],
    queryFn: () => client.store.doctor(),
    staleTime: 60_000,
    refetchInterval: 120_000,
    retry: false,
  });
  const { data: syncs = [] } = useSyncs();
  const now = useNow();
  const known = useKnown(shapes);
  const matters = ranked([
    ...doctorMatters(doctor?.checks ?? []),
    ...known.flatMap((one) => mattersOf(one, now)),
    ...syncMatters(syncs),
  ]);
  if (matters.length === 0) return doctor === undefined ? null : <AllWell known={known} />;
  const names = new Map(shapes.map((one) => [one.id, nameOf(one)]));
  return (
    <section
      className={matters.some(({ isFault }) => isFault) ? "health" : "health mild"}
      aria-label="What needs attention"
    >
      <ul>
        {matters.slice(0, MOST).map((one) => (
          <MatterLine key={one.key} matter={one} name={names.get(one.workspace ?? "")} />
        ))}
      </ul>
      {matters.length > MOST ? (
        <details>
          <summary>{counted(matters.length - MOST, "more matter")}</summary>
          <ul>
            {matters.slice(MOST).map((one) => (
              <MatterLine key={one.key} matter={one} name={names.get(one.workspace ?? "")} />
            ))}
          </ul>
        </details>
      ) : null}
    </section>
  );
}

/**
 * Returns the facts about the given workspaces. Reads conflicts and replicas, which the cards of the home view do not
 * read.
 */
function useKnown(shapes: readonly WorkspaceShape[]): readonly Known[] {
  const { client } = useApi();
  const open = shapes.filter(({ problem }) => problem === undefined);
  const recordings = useQueries({ queries: open.map(({ id }) => recordingQuery(client.workspace(id))) });
  const conflicts = useQueries({ queries: open.map(({ id }) => conflictsQuery(client.workspace(id))) });
  const replicas = useQueries({ queries: open.map(({ id }) => replicasQuery(client.workspace(id))) });
  const closed = shapes.filter(({ problem }) => problem !== undefined);
  return [
    ...closed.map((shape) => ({ shape, check: lastCheck(shape.id) })),
    ...open.map((shape, i) => ({
      shape,
      recording: recordings[i]?.data,
      conflicts: conflicts[i]?.data,
      replicas: replicas[i]?.data,
      check: lastCheck(shape.id),
    })),
  ];
}

function AllWell({ known }: { readonly known: readonly Known[] }) {
  const replicas = known.reduce((sum, one) => sum + (one.replicas?.length ?? 0), 0);
  return (
    <p className="all-well">
      <CircleCheck size={16} aria-hidden="true" /> All is well: every history is signed and readable, and no conflict is
      open{replicas === 0 ? "" : `; ${counted(replicas, "replica is", "replicas are")} up to date`}.
    </p>
  );
}

interface MatterLineProps {
  readonly matter: Matter;
  readonly name: string | undefined;
}

function MatterLine({ matter: { isFault, text, hint, command, workspace, at }, name }: MatterLineProps) {
  const Icon = isFault ? TriangleAlert : Info;
  return (
    <li>
      <Icon size={16} aria-label={isFault ? "Fault" : "Note"} />
      <div className="matter">
        {name === undefined || workspace === undefined ? null : (
          <Link to="/w/$workspace" params={{ workspace }} className="matter-place">
            <PathText path={name} />
          </Link>
        )}
        <span>{visible(text)}</span>
        {hint === undefined ? null : <span className="quiet">{visible(hint)}</span>}
        {command === undefined ? null : <Command text={command} />}
        {at === undefined || workspace === undefined ? null : (
          <Link to={`/w/$workspace${at[0]}`} params={{ workspace }} className="text-link">
            {at[1]}
          </Link>
        )}
      </div>
    </li>
  );
}
