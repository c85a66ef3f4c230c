import { useVirtualizer } from "@tanstack/react-virtual";
import {
  ArrowLeftRight,
  Camera,
  CornerUpLeft,
  Eye,
  FileInput,
  Flag,
  Handshake,
  MessageSquare,
  Pencil,
  Redo2,
  RefreshCw,
  SquareTerminal,
  Undo2,
  Wrench,
} from "lucide-react";
import { memo, useCallback, useEffect, useRef } from "react";
import type { RecentItem, RecentPath } from "../../../src/api/recent-api.ts";
import { keyOf } from "../data/newer-lines.ts";
import { Actor } from "../parts/actor.tsx";
import { OutcomeTag } from "../parts/outcome.tsx";
import { LineCounts, PathText } from "../parts/path-text.tsx";
import { Ago } from "../parts/time.tsx";
import { counted, visible } from "../parts/words.ts";
import { UndoneTag } from "../undo/undone-tag.tsx";

interface ItemListProps {
  readonly items: readonly RecentItem[];
  readonly selected: RecentItem | undefined;
  /** The selected range: the events after `from`, up to `to`. All its lines are marked. */
  readonly range: { readonly from: number; readonly to: number } | undefined;
  /** `isRange`: true to select everything from the selected line to this one. */
  readonly onSelect: (item: RecentItem, isRange: boolean) => void;
  /** True while the list still has the lines for the former filters. */
  readonly isOld: boolean;
  /** Called when the end of the list comes near. */
  readonly onEnd: () => void;
}

const ROW_PX = 52;

/** Shows the lines of the timeline. Only the lines that are on screen are in the document. */
export function ItemList({ items, selected, range, onSelect, isOld, onEnd }: ItemListProps) {
  const box = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: items.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
    getItemKey: (i) => (items[i] === undefined ? i : keyOf(items[i])),
  });
  const at = selected === undefined ? -1 : items.indexOf(selected);
  useEffect(() => {
    if (at >= 0) rows.scrollToIndex(at, { align: "auto" });
  }, [at, rows]);
  // A row is drawn again only if one of its properties changes. `select` is therefore the same function in all renders.
  const latest = useRef(onSelect);
  useEffect(() => {
    latest.current = onSelect;
  });
  const select = useCallback((item: RecentItem, isRange: boolean) => latest.current(item, isRange), []);
  const last = rows.getVirtualItems().at(-1)?.index ?? 0;
  const isNearEnd = items.length > 0 && last >= items.length - 20 && (rows.scrollOffset ?? 0) > 0;
  useEffect(() => {
    if (isNearEnd) onEnd();
    // `onEnd` is called once for each new end of the list.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [isNearEnd, items.length]);
  return (
    <div ref={box} className={isOld ? "item-list old" : "item-list"}>
      <ol style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map(({ index, key, start }) => {
          const item = items[index];
          if (item === undefined) return null;
          return (
            <li key={key} style={{ transform: `translateY(${start}px)`, height: ROW_PX }}>
              <ItemRow item={item} isSelected={index === at || isIn(item, range)} onSelect={select} />
            </li>
          );
        })}
      </ol>
    </div>
  );
}

function isIn({ from_seq: from, to_seq: to }: RecentItem, range: ItemListProps["range"]): boolean {
  return range !== undefined && to > range.from && from < range.to;
}

const ICONS: Readonly<Record<RecentItem["kind"], typeof Pencil>> = {
  baseline: Flag,
  run: SquareTerminal,
  turn: MessageSquare,
  action: Wrench,
  edit: Pencil,
  watch: Eye,
  write: FileInput,
  transaction: ArrowLeftRight,
  restore: CornerUpLeft,
  undo: Undo2,
  redo: Redo2,
  resolve: Handshake,
  snapshot: Camera,
  sync: RefreshCw,
};

interface ItemRowProps {
  readonly item: RecentItem;
  readonly isSelected: boolean;
  readonly onSelect: (item: RecentItem, isRange: boolean) => void;
}

const ItemRow = memo(function ItemRow({ item, isSelected, onSelect }: ItemRowProps) {
  const { kind, summary, actor, who, timestamp, lines, undone, open, back, git } = item;
  const Icon = ICONS[kind];
  return (
    <button
      type="button"
      className={`item kind-${kind}${undone === true ? " is-undone" : ""}`}
      aria-current={isSelected}
      onClick={(event) => onSelect(item, event.shiftKey)}
    >
      <Icon className="item-icon" size={16} aria-label={kind} />
      <span className="item-main">
        <span className="item-title">{visible(summary)}</span>
        <span className="item-paths">
          <OutcomeTag item={item} />
          <Paths item={item} />
          {git === undefined || git.length === 0 ? null : <span className="tag">git</span>}
        </span>
      </span>
      <span className="item-side">
        <span className="item-who">
          {open === true ? <span className="tag live">at work</span> : null}
          <UndoneTag item={item} />
          {back === "chronicle undo" ? <span className="tag accent">next undo</span> : null}
          <Actor actor={actor} who={who} />
        </span>
        <span className="item-when">
          {lines === undefined ? null : <LineCounts {...lines} />}
          <Ago at={timestamp} />
        </span>
      </span>
    </button>
  );
});

/** Shows the first paths of a line, and how many more there are. */
function Paths({ item: { kind, paths, more_paths = 0, actions } }: { readonly item: RecentItem }) {
  const [first, second, ...rest] = paths;
  if (first === undefined)
    return kind === "baseline" ? null : (
      <span className="quiet">
        {actions === undefined ? "no changes" : `${counted(actions, "action")}, no changes`}
      </span>
    );
  const more = rest.reduce((sum, one) => sum + (one.files ?? 1), more_paths);
  const moreThanFirst = more + (second === undefined ? 0 : (second.files ?? 1));
  return (
    <>
      <ShortPath path={first} />
      <span className="second-path">
        {second === undefined ? null : <ShortPath path={second} />}
        {more === 0 ? null : <span className="quiet">and {more} more</span>}
      </span>
      {moreThanFirst === 0 ? null : <span className="quiet second-path-narrow">and {moreThanFirst} more</span>}
    </>
  );
}

const SIGNS: Readonly<Record<RecentPath["change"], string>> = {
  created: "+",
  modified: "±",
  deleted: "−",
  permissions_changed: "x",
  renamed: "→",
  several: "∗",
};

function ShortPath({ path: { path, change, files } }: { readonly path: RecentPath }) {
  return (
    <span className={`short-path ${change}`}>
      <span className="change-sign" title={change.replace("_", " ")}>
        {SIGNS[change]}
      </span>
      <PathText path={files === undefined ? path : `${path}/`} />
      {files === undefined ? null : <span className="quiet">{counted(files, "file")}</span>}
    </span>
  );
}
