import { ArrowDown, ArrowUp, FoldVertical, UnfoldVertical } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { flushSync } from "react-dom";
import { counted } from "../parts/words.ts";
import { useKeys } from "../shell/use-keys.ts";
import { type Choice, type PanesState, type Taken, ThreePanes } from "./three-panes.ts";
import codeStyles from "../changes/diff-view.css?inline";
import paneStyles from "./panes.css?inline";

interface MergeEditorProps {
  readonly path: string;
  /** The text from which both sides come; absent if this text is no longer stored. */
  readonly base: string | undefined;
  readonly current: string;
  readonly other: string;
  readonly otherName: string;
  /** True if the result initially contains the parts that only the other side has changed. */
  readonly mergesOther: boolean;
  readonly isBusy: boolean;
  /** Absent for a person who is allowed only to read. */
  readonly onMerged: ((text: string) => void) | undefined;
}

type Pane = "current" | "result" | "other";

/**
 * Shows the current state, the result and the other side of a conflict. A person makes the result part by part, or
 * edits it freely.
 */
export function MergeEditor(props: MergeEditorProps) {
  const { otherName, isBusy, onMerged } = props;
  const { host, panes, state } = usePanes(props);
  const [narrow, setNarrow] = useState<Pane>("result");
  const mayEdit = onMerged !== undefined;
  const maySave = mayEdit && !isBusy && state?.isTouched === true;
  const save = (): void => {
    if (maySave && panes.current !== undefined) onMerged(panes.current.text());
  };
  const take = (choice: Taken): void => {
    if (mayEdit) panes.current?.take(choice);
  };
  const step = (by: 1 | -1) => () => panes.current?.step(by);
  const edit = (): void => {
    if (mayEdit) flushSync(() => setNarrow("result"));
    if (mayEdit) panes.current?.edit();
  };
  useKeys({
    ...{ n: step(1), p: step(-1), e: edit, f: () => panes.current?.toggleFolds(), "mod+Enter": save, "mod+s": save },
    ...{ c: () => take("current"), t: () => take("other"), b: () => take("both") },
  });
  return (
    <div className="merge-editor">
      <div className="merge-bar" role="toolbar" aria-label="The parts of this conflict">
        <span className="merge-at" role="status">
          {state === undefined ? "" : standing(state, otherName)}
        </span>
        {state === undefined || state.choices.length < 2 ? null : (
          <>
            <Step name="Previous part" keyName="p" icon={ArrowUp} onStep={step(-1)} />
            <Step name="Next part" keyName="n" icon={ArrowDown} onStep={step(1)} />
          </>
        )}
        {mayEdit && state?.choices.length !== 0 ? <Choices otherName={otherName} onTake={take} /> : null}
        <span className="grow" />
        {state === undefined || state.folds.all === 0 ? null : (
          <FoldButton isAnyClosed={state.folds.closed > 0} onToggle={() => panes.current?.toggleFolds()} />
        )}
        {mayEdit ? (
          <button type="button" className="button primary" title="Ctrl/⌘ Enter" disabled={!maySave} onClick={save}>
            Settle with this result
          </button>
        ) : null}
      </div>
      <fieldset className="pane-choice">
        <legend>Show</legend>
        {(["current", "result", "other"] as const).map((one) => (
          <label key={one}>
            <input type="radio" name="pane" checked={narrow === one} onChange={() => setNarrow(one)} />
            {one === "other" ? otherName : one}
          </label>
        ))}
      </fieldset>
      <div ref={host} className="panes-host" data-shown={narrow} />
    </div>
  );
}

/** Makes the three editors, and makes new editors if the texts change. */
function usePanes({ path, base, current, other, otherName, mergesOther, onMerged }: MergeEditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const panes = useRef<ThreePanes>(undefined);
  const [state, setState] = useState<PanesState>();
  const mayEdit = onMerged !== undefined;
  useEffect(() => {
    const element = host.current;
    if (element === null) return undefined;
    const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [codeStyles, paneStyles].map(sheetOf);
    const inner = document.createElement("div");
    inner.className = "panes";
    root.replaceChildren(inner);
    const given = { path, base, current, other, otherName, mayEdit, mergesOther };
    const made = new ThreePanes({ host: inner, root, ...given, onState: setState });
    panes.current = made;
    made.goTo(0);
    return () => made.destroy();
  }, [path, base, current, other, otherName, mayEdit, mergesOther]);
  return { host, panes, state };
}

interface ChoicesProps {
  readonly otherName: string;
  readonly onTake: (choice: Taken) => void;
}

/** Shows the buttons that choose the lines of the result at the selected part. */
function Choices({ otherName, onTake }: ChoicesProps) {
  return (
    <>
      <button type="button" className="button take-current" onClick={() => onTake("current")} title="Take current (c)">
        Take current
      </button>
      <button
        type="button"
        className="button take-other"
        onClick={() => onTake("other")}
        title={`Take ${otherName} (t)`}
      >
        Take {otherName}
      </button>
      <button type="button" className="button" onClick={() => onTake("both")} title="Take both (b)">
        Take both
      </button>
    </>
  );
}

function sheetOf(text: string): CSSStyleSheet {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(text);
  return sheet;
}

interface StepProps {
  readonly name: string;
  readonly keyName: string;
  readonly icon: typeof ArrowUp;
  readonly onStep: () => void;
}

function Step({ name, keyName, icon: Icon, onStep }: StepProps) {
  return (
    <button type="button" className="icon-button" aria-label={name} title={`${name} (${keyName})`} onClick={onStep}>
      <Icon size={16} aria-hidden="true" />
    </button>
  );
}

/** Shows all unchanged lines, or folds them again. */
function FoldButton({ isAnyClosed, onToggle }: { readonly isAnyClosed: boolean; readonly onToggle: () => void }) {
  const Icon = isAnyClosed ? UnfoldVertical : FoldVertical;
  const name = isAnyClosed ? "Show all lines" : "Fold unchanged lines";
  return (
    <button type="button" className="icon-button" aria-label={name} title={`${name} (f)`} onClick={onToggle}>
      <Icon size={16} aria-hidden="true" />
    </button>
  );
}

/**
 * Returns the words for the selected part: its number, what the result has at this part, and how many parts are
 * undecided.
 */
function standing({ at, choices }: PanesState, otherName: string): string {
  const choice = choices[at];
  if (choice === undefined) return "No lines differ";
  const left = choices.filter((one) => one === "undecided").length;
  const rest = left === 0 ? "all decided" : `${counted(left, "part")} undecided`;
  return `Part ${at + 1} of ${choices.length}: ${choiceWords(choice, otherName)} · ${rest}`;
}

function choiceWords(choice: Choice, otherName: string): string {
  if (choice === "undecided") return "as it is now";
  if (choice === "edited") return "edited";
  return { current: "current", other: otherName, both: "both" }[choice];
}
