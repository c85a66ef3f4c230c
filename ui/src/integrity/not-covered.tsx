import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import { CircleCheck } from "lucide-react";
import { useState } from "react";
import type { SessionShape } from "../../../src/api/shapes.ts";
import { ChronicleError } from "../../../src/client/index.ts";
import { useMayChange, useWorkspaceApi } from "../data/api.ts";
import { useSessions } from "../data/queries.ts";
import { Command } from "../parts/command.tsx";
import { PathText } from "../parts/path-text.tsx";
import { Loading, Problem } from "../parts/states.tsx";
import { shortTime } from "../parts/time.tsx";
import { counted, digits, visible } from "../parts/words.ts";
import { sessionName } from "../parts/session-name.ts";
import {
  changeWords,
  type OmissionGroup,
  type Receipt,
  receiptOfNow,
  receiptOfSession,
  reasonOf,
} from "./omissions.ts";

/** The maximum numbers of sessions to choose from, and of paths that are named for each reason. */
const MOST_SESSIONS = 60;
const MOST_PATHS = 100;

/** Shows the coverage: the paths that the history does not have, of the present folder or of a session. */
export function NotCovered({ workspace }: { readonly workspace: string }) {
  const [session, setSession] = useState("");
  const { data: sessions = [] } = useSessions(workspace);
  const newest = sessions.toReversed().slice(0, MOST_SESSIONS);
  const receipt = useReceipt(workspace, session);
  return (
    <section className="panel" aria-label="What is not covered">
      <h2>What is not covered</h2>
      <p className="panel-choice">
        <select value={session} aria-label="What was left out" onChange={(event) => setSession(event.target.value)}>
          <option value="">in the present folder</option>
          {newest.map((one) => (
            <option key={one.session_id} value={one.session_id}>
              {sessionName(one)}, {shortTime(Date.parse(one.started))}
            </option>
          ))}
        </select>
      </p>
      {receipt.error === null ? null : <Problem error={receipt.error} />}
      {receipt.isPending ? <Loading what="Looking at the folder" /> : null}
      {receipt.data === undefined ? null : <ReceiptView receipt={receipt.data} />}
    </section>
  );
}

function useReceipt(workspace: string, session: string): UseQueryResult<Receipt> {
  const on = useWorkspaceApi(workspace);
  return useQuery({
    queryKey: ["workspace", workspace, "receipt", session],
    queryFn: async () => {
      if (session === "") return receiptOfNow((await on.status()).coverage);
      const [of, snapshots] = await Promise.all([on.session(session), on.snapshots()]);
      const own = snapshots.filter((one) => one.session === session);
      return receiptOfSession(of, own, await actionsOf(on, of));
    },
    staleTime: 30_000,
    retry: false,
  });
}

/** Returns the actions of an agent's session. The list is empty if the history no longer has the actions. */
async function actionsOf(on: ReturnType<typeof useWorkspaceApi>, { kind, session_id: session }: SessionShape) {
  if (kind !== "agent") return [];
  try {
    return (await on.changes({ session })).actions;
  } catch (error) {
    if (error instanceof ChronicleError && (error.code === "PRUNED" || error.code === "NOT_FOUND")) return [];
    throw error;
  }
}

function ReceiptView({ receipt: { groups, unapplied, changes, notes } }: { readonly receipt: Receipt }) {
  const mayChange = useMayChange();
  const isAll = groups.length + unapplied.length + changes.length === 0;
  if (isAll)
    return (
      <p className="all-good">
        <CircleCheck size={16} aria-hidden="true" /> Everything is covered.
      </p>
    );
  return (
    <>
      {groups.some(({ isMeant }) => !isMeant) ? null : (
        <p className="all-good">
          <CircleCheck size={16} aria-hidden="true" /> Everything is covered, but for what was left out on purpose.
        </p>
      )}
      <ul className="receipt">
        {changes.map((one) => (
          <li key={one.path} className={one.lost ? "lost" : ""}>
            <PathText path={one.path} />
            <span className={one.lost ? "loss" : "quiet"}>
              {changeWords(one)} ({reasonOf(one.reason)})
            </span>
          </li>
        ))}
        {groups.map((group) => (
          <Group key={group.reason} group={group} />
        ))}
        {unapplied.map(({ source, detail }) => (
          <li key={source}>
            <span>rules that are not applied: {visible(source)}</span>
            <span className="quiet">{visible(detail)}</span>
          </li>
        ))}
      </ul>
      {notes.map((note) => (
        <p key={note} className="quiet">
          {visible(note)}
        </p>
      ))}
      {mayChange && groups.length > 0 ? (
        <p className="quiet">
          Why a path is left out: <Command text="chronicle explain PATH" />
        </p>
      ) : null}
    </>
  );
}

function Group({ group: { reason, isMeant, paths } }: { readonly group: OmissionGroup }) {
  return (
    <li>
      <details>
        <summary>
          {counted(paths.length, "path")}: {reasonOf(reason)}{" "}
          {isMeant ? null : <span className="tag warn">not intended</span>}
        </summary>
        <ul className="receipt-paths">
          {paths.slice(0, MOST_PATHS).map(({ path, detail }) => (
            <li key={path}>
              <PathText path={path} /> <span className="quiet">{visible(detail ?? "")}</span>
            </li>
          ))}
          {paths.length > MOST_PATHS ? <li className="quiet">and {digits(paths.length - MOST_PATHS)} more</li> : null}
        </ul>
      </details>
    </li>
  );
}
