/** Column by column: how much each caller reads, what else they may do, and which statement decides. */
import { useState } from 'preact/hooks'
import type { ColumnDescription, Decision, Statement, TableDescription } from '../../app/contract.ts'
import { LEVEL_WORDS, levelOf } from '../../ui/cell.ts'
import { decidingStatements, statementName } from '../../ui/decision.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { LevelMark } from '../../ui/level-mark.tsx'
import { Statements } from '../../ui/statements.tsx'
import { Scrolled } from './scrolled.tsx'

/** Another caller, and the table as they have it; undefined if nothing of it is granted to them. */
export interface OtherAccess {
  readonly name: string
  readonly table: TableDescription | undefined
  /** The text of a statement. The vault leaves out what they do not know; the caller knows the policy. */
  readonly textOf: (role: string, position: number) => string | undefined
}

/** What is compared: the access of the caller, and of others. The last one's is explained in full. */
export interface ColumnAccessProps {
  readonly yours: TableDescription
  readonly others?: readonly OtherAccess[]
}

const ACTIONS = ['search', 'update', 'detokenize'] as const
const MAY: Readonly<Record<Decision, string>> = { ALLOWED: 'yes', CONDITIONAL: 'some', DENIED: 'no' }

/** Lists the columns. */
export function ColumnAccess({ yours, others = [] }: ColumnAccessProps) {
  const [opened, setOpened] = useState<ColumnDescription | undefined>()
  const last = others.at(-1)
  return (
    <Scrolled label={`Access to ${yours.name}, column by column`}>
      <table class="plain-table access">
        <thead>
          <tr>
            <th scope="col">column</th>
            <th scope="col">you read</th>
            {others.map(({ name }) => (
              <th scope="col" key={name}>
                {name} reads
              </th>
            ))}
            {ACTIONS.map((action) => (
              <th scope="col" key={action}>
                {action}
              </th>
            ))}
            <th scope="col">decided by</th>
          </tr>
        </thead>
        <tbody>
          {yours.columns.map((column) => {
            const deciding = last === undefined ? column : columnOf(last.table, column.name)
            return (
              <tr key={column.name}>
                <th scope="row">{column.name}</th>
                <Reads of={column} />
                {others.map(({ name, table }) => (
                  <Reads of={columnOf(table, column.name)} key={name} />
                ))}
                {ACTIONS.map((action) => (
                  <td key={action}>
                    <span class={deciding?.[action] === 'ALLOWED' ? 'chip ok' : 'chip'}>
                      {MAY[deciding?.[action] ?? 'DENIED']}
                    </span>
                  </td>
                ))}
                <td>
                  <DecidedBy column={deciding} onOpen={setOpened} />
                </td>
              </tr>
            )
          })}
        </tbody>
      </table>
      {opened === undefined ? null : (
        <Dialog label={`What decides about ${opened.name}`} onClose={() => setOpened(undefined)}>
          <div class="dialog">
            <h2>{opened.name}</h2>
            <Statements of={withTexts(opened.read.statements, last)} />
            <div class="actions">
              <button type="button" class="button" autofocus onClick={() => setOpened(undefined)}>
                Close
              </button>
            </div>
          </div>
        </Dialog>
      )}
    </Scrolled>
  )
}

function withTexts(statements: readonly Statement[], other: OtherAccess | undefined): readonly Statement[] {
  return statements.map((one) => {
    const text = one.text ?? other?.textOf(one.role, one.position)
    return text === undefined ? one : { ...one, text }
  })
}

function columnOf(table: TableDescription | undefined, name: string): ColumnDescription | undefined {
  return table?.columns.find((column) => column.name === name)
}

function Reads({ of }: { readonly of: ColumnDescription | undefined }) {
  const level = of === undefined ? 'NONE' : levelOf(of)
  return (
    <td>
      <LevelMark of={level} /> {LEVEL_WORDS[level]}
    </td>
  )
}

function DecidedBy({
  column,
  onOpen,
}: {
  readonly column: ColumnDescription | undefined
  onOpen(column: ColumnDescription): void
}) {
  const deciding: readonly Statement[] = column === undefined ? [] : decidingStatements(column)
  if (column === undefined || deciding.length === 0) return <span class="faint">no statement</span>
  return (
    <button type="button" class="button quiet small mono" onClick={() => onOpen(column)}>
      {deciding.map(statementName).join(', ')}
    </button>
  )
}
