/** The fields of a record: each at the caller's level, with why, and with a reveal where the policy allows one. */
import { useState } from 'preact/hooks'
import type { ColumnDescription, TableDescription, UntypedRecord } from '../../app/contract.ts'
import { useStore } from '../../app/store.ts'
import { type Cell, type ColumnLevel, cellOf, textOf } from '../../ui/cell.ts'
import { copyCell } from '../../ui/copy.ts'
import { isRevealable } from '../../ui/grid/row.tsx'
import { Icon } from '../../ui/icon.tsx'
import { LevelMark } from '../../ui/level-mark.tsx'
import { RevealDialog } from '../../ui/reveal.tsx'
import { hideRevealed, revealedChanges } from '../../ui/revealed.ts'
import { Value } from '../../ui/value.tsx'
import { WhyDialog } from '../../ui/why.tsx'

const MARKS: Readonly<Record<Cell['state'], ColumnLevel>> = {
  plain: 'PLAIN_TEXT',
  null: 'PLAIN_TEXT',
  revealed: 'PLAIN_TEXT',
  masked: 'MASKED',
  redacted: 'REDACTED',
  hidden: 'NONE',
}

/** Letters from which a text scrolls in its field. */
const LONG = 600

function isLong(cell: Cell | undefined): boolean {
  return cell !== undefined && 'value' in cell && textOf(cell.value).length > LONG
}

/** Draws them. Without a record they are waited for. Files have a section of their own. */
export function FieldSection({
  table,
  record,
}: {
  readonly table: TableDescription
  readonly record: UntypedRecord | undefined
}) {
  useStore(revealedChanges)
  const [over, setOver] = useState<{ kind: 'why' | 'reveal'; column: ColumnDescription; at: DOMRect } | undefined>()
  const open =
    (kind: 'why' | 'reveal', column: ColumnDescription) =>
    ({ currentTarget }: { currentTarget: Element }) =>
      setOver({ kind, column, at: currentTarget.getBoundingClientRect() })
  const close = (): void => setOver(undefined)
  const columns = table.columns.filter(({ type }) => type !== 'FILE')
  return (
    <section class="section" aria-label="Fields" aria-busy={record === undefined}>
      <dl class="record">
        {columns.map((column) => {
          const cell = record === undefined ? undefined : cellOf(record, column.name, table.name)
          return (
            <div key={column.name}>
              <dt>
                <button
                  type="button"
                  aria-label={`Why ${column.name} looks like this`}
                  title="Why it looks like this"
                  onClick={open('why', column)}
                >
                  <LevelMark of={cell === undefined ? 'NONE' : MARKS[cell.state]} />
                </button>
                {column.name}
              </dt>
              {/* What scrolls can be reached by key. */}
              <dd class={isLong(cell) ? 'record-value long' : 'record-value'} tabIndex={isLong(cell) ? 0 : undefined}>
                {cell === undefined ? <span class="skeleton" /> : <Value cell={cell} />}
              </dd>
              <dd>
                {cell?.state === 'revealed' ? (
                  <button
                    type="button"
                    class="button small"
                    onClick={() => hideRevealed(table.name, record?.id ?? '', column.name)}
                  >
                    Hide
                  </button>
                ) : cell !== undefined && isRevealable(column, cell) ? (
                  <button
                    type="button"
                    class="button small"
                    aria-label={`Reveal ${column.name}`}
                    onClick={open('reveal', column)}
                  >
                    <Icon of="eye" />
                    Reveal
                  </button>
                ) : cell?.state === 'plain' ? (
                  <button
                    type="button"
                    class="button quiet small"
                    aria-label={`Copy ${column.name}`}
                    onClick={() => void copyCell(cell, column.name)}
                  >
                    Copy
                  </button>
                ) : null}
              </dd>
            </div>
          )
        })}
      </dl>
      {over?.kind === 'why' ? <WhyDialog table={table.name} {...over} onClose={close} /> : null}
      {over?.kind === 'reveal' && record !== undefined ? (
        <RevealDialog table={table.name} id={record.id} column={over.column.name} at={over.at} onClose={close} />
      ) : null}
    </section>
  )
}
