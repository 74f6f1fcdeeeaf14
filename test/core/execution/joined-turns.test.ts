/** Calls that run as one take few turns: if they need more, each runs by itself. */
import { expect, it } from 'vitest'
import { systemScheduler } from '../../../src/adapters/system/system-time.ts'
import type { OperationContext } from '../../../src/core/execution/context.ts'
import { createJoinedCalls } from '../../../src/core/execution/joined-calls.ts'

it.each([
  [4, 'as one'],
  [5, undefined],
])('a group that takes %i turns ends with %s', async (turns, result) => {
  const calls = createJoinedCalls<OperationContext>(systemScheduler)
  const context = { barrier: {}, access: {}, scheduler: systemScheduler } as OperationContext // A group uses no other part.
  const joined = {
    groupOf: () => 'all',
    async execute({ scheduler }: OperationContext, requests: readonly number[]) {
      for (let turn = 0; turn < turns; turn++) await scheduler.yield()
      return requests.map(() => 'as one')
    },
  }
  for (let call = 0; call < 4; call++) calls.begin()
  const ended = await Promise.all([1, 2, 3, 4].map((request) => calls.join(joined, context, request)))
  expect(ended).toEqual([1, 2, 3, 4].map(() => result))
})
