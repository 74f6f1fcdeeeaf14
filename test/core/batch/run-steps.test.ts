/** Which steps of a batch can run out of order, and in which groups. */
import { describe, expect, it } from 'vitest'
import type { MethodName } from '../../../src/core/batch/batch-item.ts'
import { groupsOf, partsOf } from '../../../src/core/batch/run-steps.ts'
import { at } from '../../../src/core/util/lists.ts'

const step = (name: string, method: MethodName, group: string | undefined, record?: string | number) => ({
  ...{ name, runner: { method }, group },
  record: typeof record === 'string' ? record : undefined,
  reference: typeof record === 'number' ? record : undefined,
})

const names = (lists: Iterable<readonly { readonly name: string }[]>) =>
  [...lists].map((list) => list.map(({ name }) => name).join(' '))

const groupedNames = (steps: readonly ReturnType<typeof step>[]) =>
  names(groupsOf(steps).map((positions) => positions.map((position) => at(steps, position))))

describe('the parts of a batch', () => {
  it('end where an item names a record that was written before', () => {
    const steps = [
      step('read', 'get', 'a', 'x'),
      step('again', 'get', 'a', 'x'),
      step('write', 'update', 'a', 'x'),
      step('other', 'update', 'a', 'y'),
      step('after', 'get', 'a', 'y'),
      step('new', 'insert', 'a'),
    ]
    expect(names(partsOf(steps))).toEqual(['read again', 'write other', 'after new'])
  })

  it('end before an item that means the record of one of them, and bind it when they have run', () => {
    const steps = [
      step('new', 'insert', 'a'),
      step('other', 'insert', 'a'),
      step('read', 'get', 'a', 0),
      step('write', 'update', 'a', 1),
      step('again', 'update', 'a', 0),
    ]
    const ran: string[] = []
    const bound = (one: (typeof steps)[number]) => {
      expect(ran).toContain(steps[one.reference ?? 0]?.name)
      return { ...one, record: `record of ${one.reference}`, reference: undefined }
    }
    const parts = []
    for (const part of partsOf(steps, bound)) {
      ran.push(...part.map(({ name }) => name))
      parts.push(part)
    }
    expect(names(parts)).toEqual(['new other', 'read write', 'again'])
  })

  it('are single items where an item runs by itself', () => {
    const steps = [step('one', 'insert', 'a'), step('upsert', 'insert', undefined), step('two', 'insert', 'a')]
    expect(names(partsOf(steps))).toEqual(['one', 'upsert', 'two'])
  })

  it('of an empty batch are an empty list', () => {
    expect([...partsOf([])]).toEqual([])
  })
})

describe('the groups of a part', () => {
  it('begin with inserts and end with deletions', () => {
    const steps = [
      step('delete', 'delete', 'a', 'w'),
      step('read', 'get', 'a', 'x'),
      step('insert', 'insert', 'a'),
      step('update', 'update', 'a', 'y'),
      step('insert too', 'insert', 'a'),
    ]
    expect(groupedNames(steps)).toEqual(['insert insert too', 'update', 'read', 'delete'])
  })

  it('keep the order of updates, and gather all other items of one kind', () => {
    const steps = [
      ...[step('p1', 'insert', 'a'), step('p2', 'insert', 'b'), step('p3', 'insert', 'a')],
      ...[step('u1', 'update', 'a', 'x'), step('u2', 'update', 'b', 'y'), step('u3', 'update', 'a', 'z')],
    ]
    expect(groupedNames(steps)).toEqual(['p1 p3', 'p2', 'u1', 'u2', 'u3'])
  })
})
