/** The law that answers over HTTP are those of the session, and its negative controls: routers that answer something else. */
import { expect, it } from 'vitest'
import { compareTransports, httpEqualsSession } from '../laws/http-equals-session.ts'
import type { Distortion } from '../support/http/serve-router.ts'
import { itHolds } from '../support/laws/it-holds.ts'

itHolds(httpEqualsSession)

/** Replaces text in the bodies of answers. */
function changing(from: string | RegExp, to: string): Distortion {
  return (response) => ({ ...response, body: String(response.body).replace(from, to) })
}

const FAULTS: Readonly<Record<string, Distortion>> = {
  'leaves out the record id': changing(/"svc_id":"[^"]*",?/, ''),
  'shows a masked value as null': changing('"*REDACTED*"', 'null'),
  'calls an error another': changing(/"grpc_code":\d+/, '"grpc_code":2'),
  'answers another status': (response) => ({ ...response, status: response.status === 401 ? 400 : response.status }),
  'adds a member': changing('{"records":[', '{"more":true,"records":['),
  'changes the order of records': changing(/\[(\{[^{}]*\{[^{}]*\}\}),(\{[^{}]*\{[^{}]*\}\})\]/, '[$2,$1]'),
  'says of a missing record what the session says': changing(/svc_id ID. Specify a valid svc_id/, 'id'),
}

it.each(Object.entries(FAULTS))('a router that %s is found out', async (name, distort) => {
  const found: string[] = []
  for (let number = 0; number < 40 && found.length === 0; number++)
    found.push(...(await compareTransports(`${name} ${number}`, 20, distort)).differences)
  expect(found).toHaveLength(1)
})
