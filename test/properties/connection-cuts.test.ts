/** The law of connection cuts, and its negative control. */
import { expect, inject, it } from 'vitest'
import { connectionCuts, cutConnections } from '../laws/connection-cuts.ts'
import { itHolds } from '../support/laws/it-holds.ts'

itHolds(connectionCuts)

it('a vault that acknowledges before it commits is found out', async () => {
  const { failures } = await cutConnections(inject('postgresUrl'), 'early', { acknowledgeEarly: true })
  expect(failures).not.toEqual([])
})
