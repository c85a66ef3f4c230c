import { skipToken, useMutation, useMutationState, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { ShieldAlert, ShieldCheck, Square } from "lucide-react";
import { type FormEvent, useEffect, useEffectEvent, useId, useState } from "react";
import type { Progress } from "../../../src/api/workspace-api.ts";
import { useWorkspaceApi } from "../data/api.ts";
import { Problem } from "../parts/states.tsx";
import { counted, digits, size, visible } from "../parts/words.ts";
import { keepCheck } from "./last-check.ts";
import { type Check, verdictOf } from "./verdict.ts";

/** The options of a check, as a person has chosen them. */
interface Asked {
  readonly isQuick: boolean;
  readonly expect: string;
  /** Stops the check, at the server, too. */
  readonly stop: AbortController;
}

/** How much a running check has read of the log and of the contents. What it has not begun is absent. */
type Read = Readonly<Partial<Record<Progress["unit"], Progress>>>;

/** Checks the history. A check goes on while other views are open, and is shown again when the person comes back. */
export function Verify({ workspace }: { readonly workspace: string }) {
  const { begin, last } = useCheck(workspace);
  const [expect, setExpect] = useState("");
  const field = useId();
  const isGoing = last?.status === "pending";
  useAskedCheck(isGoing ? undefined : begin);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    begin({ isQuick: false, expect, stop: new AbortController() });
  };
  return (
    <section className="panel" aria-labelledby={`${field}-title`}>
      <h1 id={`${field}-title`}>Is the history whole?</h1>
      <form onSubmit={submit} className="verify-form">
        <label htmlFor={field}>A head that you kept earlier, to compare with (may be empty)</label>
        <textarea
          id={field}
          rows={3}
          spellCheck={false}
          value={expect}
          onChange={(event) => setExpect(event.target.value)}
          placeholder="the output of: chronicle head"
        />
        <div className="verify-buttons">
          <button type="submit" className="button primary" disabled={isGoing}>
            Recompute everything
          </button>
          <button
            type="button"
            className="button"
            disabled={isGoing}
            onClick={() => begin({ isQuick: true, expect, stop: new AbortController() })}
          >
            Only the log
          </button>
        </div>
      </form>
      {last === undefined ? null : <CheckView workspace={workspace} check={last} />}
    </section>
  );
}

/** The state of the last check, as React Query keeps it. */
interface LastCheck {
  readonly status: string;
  readonly asked: Asked;
  readonly done: Check | undefined;
  readonly error: unknown;
}

/** Begins a check if the address asks for one, and removes that from the address. */
function useAskedCheck(begin: ((asked: Asked) => void) | undefined): void {
  const { check } = useSearch({ from: "/w/$workspace/integrity" });
  const navigate = useNavigate({ from: "/w/$workspace/integrity" });
  const onAsked = useEffectEvent(() => {
    begin?.({ isQuick: false, expect: "", stop: new AbortController() });
    void navigate({ search: {}, replace: true });
  });
  useEffect(() => {
    if (check !== undefined) onAsked();
  }, [check]);
}

function useCheck(workspace: string): { readonly begin: (asked: Asked) => void; readonly last: LastCheck | undefined } {
  const on = useWorkspaceApi(workspace);
  const queries = useQueryClient();
  const mutationKey = ["check", workspace];
  const { mutate: begin } = useMutation({
    mutationKey,
    mutationFn: async ({ isQuick, expect, stop }: Asked): Promise<Check> => {
      let read: Read = {};
      const onProgress = (progress: Progress): void => {
        read = { ...read, [progress.unit]: progress };
        queries.setQueryData(readKey(workspace), read);
      };
      queries.setQueryData(readKey(workspace), read);
      // A signed head ends with a newline, which is easily lost when it is copied.
      const head = expect.trim() === "" ? {} : { expect: `${expect.trim()}\n` };
      const result = await on.verify({ quick: isQuick, ...head, onProgress, signal: stop.signal });
      // A damaged log may not be readable, and the check itself says so.
      keepCheck(workspace, { at: new Date().toISOString(), problems: result.problems.length, isQuick });
      const [newest] = result.ok ? await on.log({ reverse: true, limit: 1 }) : [];
      return { result, isQuick, last: newest?.seq ?? 0 };
    },
  });
  const checks = useMutationState({
    filters: { mutationKey },
    select: ({ state: { status, variables, data, error } }): LastCheck => ({
      status,
      asked: variables as Asked,
      done: data as Check | undefined,
      error,
    }),
  });
  return { begin, last: checks.at(-1) };
}

function readKey(workspace: string): readonly string[] {
  return ["check", workspace, "read"];
}

function CheckView({ workspace, check }: { readonly workspace: string; readonly check: LastCheck }) {
  const { data: read = {} } = useQuery<Read>({ queryKey: readKey(workspace), queryFn: skipToken });
  const { asked, done, error, status } = check;
  if (done !== undefined) return <Verified check={done} />;
  if (status === "pending") return <Going read={read} asked={asked} />;
  if (asked.stop.signal.aborted) return <Stopped read={read} />;
  return error === null ? null : <Problem error={error} />;
}

function Going({ read: { events, bytes }, asked: { isQuick, stop } }: { readonly read: Read; readonly asked: Asked }) {
  const title =
    events === undefined ? "Waiting for the server" : isQuick ? "Reading the log" : "Recomputing every hash";
  return (
    <div className="check">
      <p className="check-line">
        <strong role="status">{title}…</strong>
        <button type="button" className="button" onClick={() => stop.abort()}>
          <Square size={14} aria-hidden="true" />
          Stop
        </button>
      </p>
      <Part name="Events" of={events} words={digits} />
      {isQuick ? null : <Part name="Contents" of={bytes} words={size} />}
    </div>
  );
}

interface PartProps {
  readonly name: string;
  readonly of: Progress | undefined;
  readonly words: (amount: number) => string;
}

function Part({ name, of, words }: PartProps) {
  const { done = 0, total = 0 } = of ?? {};
  const amount = of === undefined ? "not begun" : `${words(done)} of ${words(total)}`;
  return (
    <div className="check-part">
      <span>{name}</span>
      <progress aria-label={name} value={total === 0 ? 0 : done / total} aria-valuetext={amount} />
      <span className="check-amount">{amount}</span>
    </div>
  );
}

function Stopped({ read: { events, bytes } }: { readonly read: Read }) {
  const parts = [
    ...(events === undefined ? [] : [`${digits(events.done)} of ${counted(events.total, "event")}`]),
    ...(bytes === undefined ? [] : [`${size(bytes.done)} of ${size(bytes.total)} of contents`]),
  ];
  const upTo = parts.length === 0 ? "before it began" : `after ${parts.join(" and ")}`;
  return (
    <p className="quiet check-stopped" role="status">
      Stopped {upTo}. A part of a check proves nothing: begin again to know whether the history is whole.
    </p>
  );
}

function Verified({ check }: { readonly check: Check }) {
  const { ok, events, blobs, bytes, problems, notes, expected, seconds } = check.result;
  const { title, proof } = verdictOf(check);
  const read = check.isQuick ? "the log read" : `${size(bytes)} read`;
  const Icon = ok ? ShieldCheck : ShieldAlert;
  return (
    <div className={ok ? "verified ok" : "verified bad"} role="status">
      <p className="verified-line">
        <Icon size={20} aria-hidden="true" />
        <strong>{title}</strong>
      </p>
      <p className="quiet">
        {counted(events, "event")}, {counted(blobs, "content")}, {read} in {seconds.toFixed(1)} s. {proof}
      </p>
      {expected === null ? null : (
        <p>
          The head that you gave, of event {digits(expected.seq)}:{" "}
          {expected.ok ? "the history agrees with it" : "the history does not agree with it"} (signature:{" "}
          {expected.signature}).
        </p>
      )}
      <ul>
        {problems.slice(0, 100).map(({ kind, where, detail }) => (
          <li key={`${kind} ${where} ${detail}`}>
            <strong>{kind}</strong> {visible(where)}: {visible(detail)}
          </li>
        ))}
        {notes.map((note) => (
          <li key={note} className="quiet">
            {visible(note)}
          </li>
        ))}
      </ul>
    </div>
  );
}
