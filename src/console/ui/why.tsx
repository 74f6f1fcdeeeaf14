/** Why a column looks as it does to the caller: its level, the statements that decide, and what else the caller may do with it. */
import type { ColumnDescription, Decision } from '../app/contract.ts'
import { canReveal, LEVEL_WORDS, levelOf } from './cell.ts'
import { Dialog } from './dialog.tsx'
import { LevelMark } from './level-mark.tsx'
import { Statements } from './statements.tsx'

/** What is explained, and where the dialog opens. */
export interface WhyProps {
  readonly table: string
  readonly column: ColumnDescription
  readonly at?: DOMRect | undefined
  onClose(): void
}

const MAY: Readonly<Record<Decision, string>> = { ALLOWED: 'yes', CONDITIONAL: 'some records', DENIED: 'no' }

/** Explains it. */
export function WhyDialog({ table, column, at, onClose }: WhyProps) {
  const { read, search, update, create, detokenize } = column
  const level = levelOf(column)
  const hidden = read.hiddenColumns ?? 0
  const others = [
    ['Search', search],
    ['Update', update],
    ['Insert', create],
    ['Detokenize', detokenize],
  ] as const
  return (
    <Dialog kind="pop" at={at} label={`Why ${table}.${column.name} looks like this`} onClose={onClose}>
      <div class="dialog">
        <h2>
          {table}.{column.name}
        </h2>
        <p>
          <LevelMark of={level} /> {level === 'VARIES' ? 'What you see of it' : 'You see it'} <b>{LEVEL_WORDS[level]}</b>
          {canReveal(column) ? '. You may reveal one cell at a time, with a purpose' : ''}.
          {column.encrypted ? ' Sealed in storage.' : ' Stored unsealed.'}
        </p>
        <Statements of={read.statements} />
        {hidden === 0 ? null : (
          <p class="faint">
            {hidden === 1 ? 'It depends on 1 column that is' : `It depends on ${hidden} columns that are`} not shown to you.
          </p>
        )}
        <div class="chips">
          {others.map(([name, decision]) => (
            <span class={decision === 'ALLOWED' ? 'chip ok' : 'chip'} key={name}>
              {name}: {MAY[decision]}
            </span>
          ))}
        </div>
        <div class="actions">
          <button type="button" class="button" autofocus onClick={onClose}>
            Close
          </button>
        </div>
      </div>
    </Dialog>
  )
}
