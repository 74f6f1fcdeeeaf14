/** Divides the steps of a batch into parts that can run out of order, and each part into groups that run as one. Source: docs/inside/batches.md. */
import { at } from '../util/lists.ts'
import { METHOD_NAMES } from './batch-item.ts'
import type { Runner, Step } from './batch-step.ts'

/** What grouping needs to know of a step. */
interface GroupedStep extends Pick<Step<never>, 'group' | 'record' | 'reference'> {
  readonly runner: Pick<Runner<never>, 'method'>
}

/**
 * Yields the steps in parts, in order. No two steps of a part name one record, unless both only read it, and none means the record of
 * another. So no step of a part can depend on another, except that both want one unique value. A step that cannot be grouped is a part by
 * itself. `bind` returns a step with its record; the steps before its part have run then.
 */
export function* partsOf<S extends GroupedStep>(
  steps: readonly S[],
  bind: (step: S) => S = (step) => step,
): Generator<readonly S[]> {
  let part: S[] = []
  const written = new Set<string>()
  const read = new Set<string>()
  for (let position = 0; position < steps.length; position++) {
    const given = at(steps, position)
    const { reference } = given
    if (reference !== undefined && reference >= position - part.length) {
      yield part
      begin()
    }
    const step = reference === undefined ? given : bind(given)
    const { runner, group, record } = step
    const isReading = runner.method === 'get'
    const isDependent = record !== undefined && (written.has(record) || (!isReading && read.has(record)))
    if (part.length > 0 && (isDependent || group === undefined || part[0]?.group === undefined)) {
      yield part
      begin()
    }
    part.push(step)
    if (record !== undefined) (isReading ? read : written).add(record)
  }
  if (part.length > 0) yield part

  function begin(): void {
    part = []
    written.clear()
    read.clear()
  }
}

/**
 * Returns the positions of the steps of a part in groups, in the order in which they run: first all inserts, and deletions last. A unique
 * value is then in use at least as long as in the order of the request. So if no group is refused, no step would be refused in that order,
 * and the results are the same. Updates keep their order, because the value that one frees can be the next one's.
 */
export function groupsOf(part: readonly GroupedStep[]): readonly (readonly number[])[] {
  const groups: number[][] = []
  for (const method of METHOD_NAMES) {
    const byText = new Map<string | undefined, number[]>()
    let last: { readonly text: string | undefined; readonly positions: number[] } | undefined
    for (let position = 0; position < part.length; position++) {
      const { runner, group: text } = at(part, position)
      if (runner.method !== method) continue
      if (last?.text !== text || last === undefined) {
        const known = method === 'update' ? undefined : byText.get(text)
        last = { text, positions: known ?? [] }
        byText.set(text, last.positions)
        if (known === undefined) groups.push(last.positions)
      }
      last.positions.push(position)
    }
  }
  return groups
}
