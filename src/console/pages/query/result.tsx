/** The records of a query, each cell at the caller's level. */
import type { OperationResult } from '../../../index.ts'
import { type Cell, cellOf } from '../../ui/cell.ts'
import { Empty } from '../../ui/empty.tsx'
import { Value } from '../../ui/value.tsx'

/** A record of a result. */
export type QueryRecord = OperationResult<'query'>['records'][number]

/** Draws them as a table. */
export function Result({ records }: { readonly records: readonly QueryRecord[] }) {
  const [first] = records
  if (first === undefined)
    return (
      <Empty title="No record matches">
        <p>Of the records that you can see, none meets the conditions.</p>
      </Empty>
    )
  const names = Object.keys(first.fields)
  return (
    <table class="plain-table">
      <thead>
        <tr>
          {names.map((name) => (
            <th scope="col" key={name}>
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {records.map((record, index) => (
          <tr key={index}>
            {names.map((name) => (
              <td key={name}>
                <Value cell={cellIn(record, name)} />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function cellIn({ fields, levels }: QueryRecord, name: string): Cell {
  const level = Object.hasOwn(levels, name) ? levels[name] : undefined
  if (level === 'HIDDEN') return { state: 'hidden' }
  return cellOf({ id: '', fields, levels: level === undefined ? {} : { [name]: level } }, name)
}
