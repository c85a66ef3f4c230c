import { Dialog } from "@base-ui/react/dialog";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { ArrowLeft, ArrowLeftRight, Pause, Play, RefreshCw } from "lucide-react";
import { useState } from "react";
import type { SyncApi, SyncShape } from "../../../src/api/sync-api.ts";
import { ChronicleError } from "../../../src/client/index.ts";
import { useApi, useMayChange } from "../data/api.ts";
import { Command } from "../parts/command.tsx";
import { PathText } from "../parts/path-text.tsx";
import { Empty, Loading, Problem } from "../parts/states.tsx";
import { Ago } from "../parts/time.tsx";
import { counted, digits, visible } from "../parts/words.ts";
import { type Decision, decisionsOf } from "./decisions.ts";
import "./sync.css";

/** Shows whether this folder follows a workspace of another store, and how far behind the folder is. */
export function SyncPage() {
  const { workspace } = useParams({ from: "/w/$workspace" });
  const { client } = useApi();
  const { data, error } = useQuery({
    queryKey: ["workspace", workspace, "syncs"],
    queryFn: () => client.syncs.list(),
    refetchInterval: ({ state }) => (isForbidden(state.error) ? false : 2_000),
    retry: false,
  });
  if (isForbidden(error)) return <NotHere />;
  if (error !== null) return <Problem error={error} />;
  if (data === undefined) return <Loading />;
  const own = data.filter(({ id, workspace: upstream }) => id === workspace || upstream === workspace);
  if (own.length === 0) return <NoSync />;
  return (
    <div className="sync">
      {own.map((one) => (
        <Sync key={one.id} sync={one} workspace={workspace} />
      ))}
    </div>
  );
}

function isForbidden(error: unknown): boolean {
  return error instanceof ChronicleError && error.code === "FORBIDDEN";
}

/** Shown to a person who uses a token, because only the owner of the store can control syncs. */
function NotHere() {
  return (
    <Empty title="The sync is shown to the owner of the store only">
      <p>Open the page by this command, on the machine of the store, instead of with a token:</p>
      <Command text="chronicle ui" />
    </Empty>
  );
}

function NoSync() {
  return (
    <Empty title="This folder follows no other workspace">
      <p>To have a folder follow a workspace of another machine, and write back to it:</p>
      <Command text="chronicle sync start http://HOST:PORT#WORKSPACE FOLDER" />
    </Empty>
  );
}

const WORDS: Readonly<Record<SyncShape["state"], string>> = {
  connecting: "connecting",
  syncing: "syncing",
  "in-sync": "in sync",
  offline: "offline: the origin does not answer",
  paused: "paused",
  halted: "halted: it waits for a decision",
  stopped: "stopped",
};

function Sync({ sync, workspace }: { readonly sync: SyncShape; readonly workspace: string }) {
  const { folder, upstream, mode, state, lag, pending, conflicts, progress, applied, head } = sync;
  const isOneWay = mode.startsWith("one-way") || sync.read_only === true;
  const Direction = isOneWay ? ArrowLeft : ArrowLeftRight;
  return (
    <section className="panel" aria-label={`Sync of ${folder}`}>
      <h1 className="sync-title">
        <PathText path={folder} /> <Direction size={16} aria-label={isOneWay ? "one way, from" : "both ways, with"} />{" "}
        <span className="sync-origin">{visible(upstream)}</span>
      </h1>
      <p className={`sync-state ${state}`} role="status">
        <span className="dot" aria-hidden="true" /> {WORDS[state]}
        {sync.elsewhere === true ? <span className="quiet"> (another process runs it)</span> : null}
      </p>
      <Trouble sync={sync} />
      {progress === undefined ? null : (
        <p className="quiet">
          {progress.phase}: {digits(progress.done)}
          {progress.total === 0 ? "" : ` of ${digits(progress.total)}`} {progress.total === 1 ? "file" : "files"}
        </p>
      )}
      <dl className="sync-facts">
        <Fact name="mode" value={sync.read_only === true ? `${mode}, but the token may only read` : mode} />
        <Fact name="to come here" value={counted(lag, "event")} />
        <Fact name="to go there" value={counted(pending, "change")} />
        <Fact name="the origin's events" value={`${digits(applied)} of ${digits(head)} applied`} />
      </dl>
      {conflicts === 0 ? null : (
        <Link to="/w/$workspace/conflicts" params={{ workspace }} className="button">
          Settle {counted(conflicts, "conflict")}
        </Link>
      )}
      <Steer sync={sync} />
      <KeptBack sync={sync} />
    </section>
  );
}

function Fact({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <div>
      <dt className="quiet">{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function Trouble({ sync: { trouble, reason, hint, degraded, retry_at: again } }: { readonly sync: SyncShape }) {
  const message = trouble?.message ?? reason ?? degraded;
  if (message === undefined) return null;
  return (
    <div className="sync-trouble">
      <strong>{visible(message)}</strong>
      <p>{visible(trouble?.next ?? hint ?? "")}</p>
      {again === undefined ? null : (
        <p className="quiet">
          The next try: <Ago at={again} />
        </p>
      )}
    </div>
  );
}

function Steer({ sync }: { readonly sync: SyncShape }) {
  const { id, state } = sync;
  const { client } = useApi();
  const queries = useQueryClient();
  const mayChange = useMayChange();
  const act = useMutation({
    mutationFn: (run: (syncs: SyncApi) => Promise<SyncShape>) => run(client.syncs),
    onSettled: () =>
      queries.invalidateQueries({
        predicate: ({ queryKey }) => queryKey.includes("syncs") || queryKey.includes("recording"),
      }),
  });
  if (!mayChange || state === "stopped") return null;
  const isStanding = state === "paused" || state === "halted";
  return (
    <>
      <div className="sync-buttons">
        {isStanding ? (
          <button
            type="button"
            className="button"
            disabled={act.isPending}
            onClick={() => act.mutate((syncs) => syncs.resume(id))}
          >
            <Play size={14} aria-hidden="true" /> {state === "halted" ? "Look again" : "Resume"}
          </button>
        ) : (
          <button
            type="button"
            className="button"
            disabled={act.isPending}
            onClick={() => act.mutate((syncs) => syncs.pause(id))}
          >
            <Pause size={14} aria-hidden="true" /> Pause
          </button>
        )}
        <button
          type="button"
          className="button"
          disabled={act.isPending || isStanding}
          onClick={() => act.mutate((syncs) => syncs.flush(id))}
        >
          <RefreshCw size={14} aria-hidden="true" /> Wait until both sides are equal
        </button>
        {decisionsOf(sync).map((decision) => (
          <Decide
            key={decision.accept}
            decision={decision}
            isBusy={act.isPending}
            onDecided={() => act.mutate((syncs) => syncs.resume(id, { accept: decision.accept }))}
          />
        ))}
      </div>
      {act.error === null ? null : <Problem error={act.error} />}
    </>
  );
}

interface DecideProps {
  readonly decision: Decision;
  readonly isBusy: boolean;
  readonly onDecided: () => void;
}

/** Shows the button of a decision. A dialog first says what would happen on which side. */
function Decide({ decision: { title, happens, isLoss }, isBusy, onDecided }: DecideProps) {
  const [isOpen, setOpen] = useState(false);
  const decide = (): void => {
    setOpen(false);
    onDecided();
  };
  return (
    <>
      <button type="button" className="button" disabled={isBusy} onClick={() => setOpen(true)}>
        {title}…
      </button>
      <Dialog.Root open={isOpen} onOpenChange={setOpen}>
        <Dialog.Portal>
          <Dialog.Backdrop className="backdrop" />
          <Dialog.Popup className="dialog sync-decision">
            <Dialog.Title className="dialog-title">{title}</Dialog.Title>
            {happens.map((one) => (
              <p key={one}>{one}</p>
            ))}
            <div className="dialog-actions">
              <Dialog.Close className="button">Cancel</Dialog.Close>
              <button type="button" className={isLoss ? "button danger" : "button primary"} onClick={decide}>
                {title}
              </button>
            </div>
          </Dialog.Popup>
        </Dialog.Portal>
      </Dialog.Root>
    </>
  );
}

/** Shows the paths at which both sides will continue to differ, with the reasons. */
function KeptBack({ sync }: { readonly sync: SyncShape }) {
  const {
    kept_back: count = 0,
    refused = [],
    left_out_paths = [],
    git_left_out_paths = [],
    secret_paths = [],
    not_held_paths = [],
  } = sync;
  if (count === 0) return null;
  const rows = [
    ...refused.map(({ path, why, hint }) => ({ path, why: `${why}. ${hint}` })),
    ...not_held_paths.map(({ path, why }) => ({ path, why })),
    ...secret_paths.map(({ path }) => ({ path, why: "a secret by its name" })),
    ...git_left_out_paths.map(({ path }) => ({ path, why: "the state of a git repository" })),
    ...left_out_paths.map(({ path }) => ({ path, why: "a file that an editor makes for itself" })),
  ];
  return (
    <details>
      <summary>{counted(count, "path")} stay different</summary>
      <ul className="kept-back">
        {rows.map(({ path, why }) => (
          <li key={`${path} ${why}`}>
            <PathText path={path} /> <span className="quiet">{visible(why)}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}
