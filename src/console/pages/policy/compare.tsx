/** Records as several callers see them, one line for each caller: equal cells are gray, and columns that differ come first. */
import type { TableDescription } from '../../app/contract.ts'
import { type Cell, cellOf } from '../../ui/cell.ts'
import { Value } from '../../ui/value.tsx'
import type { PreviewedRecord, SeenRecord } from './contract.ts'
import { Scrolled } from './scrolled.tsx'

/** What is compared. */
export interface CompareProps {
  readonly table: TableDescription
  readonly records: readonly PreviewedRecord[]
  /** Name of the other caller. */
  readonly other: string
}

/** A record as one caller sees it. */
interface Line {
  readonly name: string
  readonly seen: SeenRecord
}

/** Draws every record twice, or three times with a draft. */
export function Compare({ table, records, other }: CompareProps) {
  const groups = records.map(({ id, yours, theirs, draft }) => {
    const lines: Line[] = [
      { name: 'you', seen: yours },
      { name: other, seen: theirs },
    ]
    if (draft !== undefined) lines.push({ name: 'draft', seen: draft })
    return { id, lines }
  })
  const columns = table.columns
    .filter(({ tokenKind }) => tokenKind !== 'transient')
    .map((column) => {
      const cells = groups.map(({ id, lines }) => lines.map(({ seen }) => cellOf({ id, ...seen }, column.name)))
      const isNumber = column.type === 'INTEGER' || column.type === 'FLOAT' || column.type === 'DECIMAL'
      return { name: column.name, cells, isNumber, differs: cells.some((line) => line.some((cell) => !isEqual(cell, line[0]))) }
    })
  const ordered = [...columns.filter(({ differs }) => differs), ...columns.filter(({ differs }) => !differs)]
  return (
    <Scrolled label={`Records of ${table.name}, as you and ${other} see them`}>
      <table class="compare">
        <thead>
          <tr>
            <td />
            {ordered.map(({ name, isNumber }) => (
              <th scope="col" class={isNumber ? 'number' : ''} key={name}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        {groups.map(({ id, lines }, record) => (
          <tbody key={id}>
            {lines.map(({ name }, line) => (
              <tr class={line === 0 ? '' : 'other'} key={name}>
                <th scope="row">{name}</th>
                {ordered.map((column) => {
                  const [own, cell] = [column.cells[record]?.[0], column.cells[record]?.[line]]
                  return (
                    <td
                      class={line === 0 ? '' : isEqual(cell, own) ? 'same' : 'differs'}
                      data-column={column.name}
                      key={column.name}
                    >
                      {cell === undefined ? null : <Value cell={cell} />}
                    </td>
                  )
                })}
              </tr>
            ))}
          </tbody>
        ))}
      </table>
    </Scrolled>
  )
}

/** True for cells that look alike. Values are JSON, with their members in one order. */
function isEqual(one: Cell | undefined, other: Cell | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
