/** The law of statuses over HTTP, and its negative controls: routers that answer what no route documents. */
import { expect, it } from 'vitest'
import type { HttpResponse } from '../../src/http/router/http-message.ts'
import { faultsOfStatuses, httpStatuses } from '../laws/http-statuses.ts'
import type { Distortion } from '../support/http/serve-router.ts'
import { itHolds } from '../support/laws/it-holds.ts'
import { seededRandom } from '../support/random/seeded-random.ts'

itHolds(httpStatuses)

const asError = (response: HttpResponse, change: (text: string) => string): HttpResponse =>
  response.status < 400 ? response : { ...response, body: change(String(response.body)) }

const FAULTS: Readonly<Record<string, readonly [Distortion, RegExp]>> = {
  'answers 404 where only 400 is documented': [
    (response, { target }) => (target.includes('/query') && response.status === 400 ? { ...response, status: 404 } : response),
    /status 404 is not one of/,
  ],
  'answers 403': [(response) => (response.status === 401 ? { ...response, status: 403 } : response), /status 403 is not one of/],
  'leaves the request id out': [
    ({ headers: { 'x-request-id': _, ...headers }, ...response }) => ({ ...response, headers }),
    /header x-request-id is absent/,
  ],
  'lets answers be stored': [
    (response) => ({ ...response, headers: { ...response.headers, 'cache-control': 'max-age=60' } }),
    /header cache-control is max-age=60/,
  ],
  'answers an error as text': [(response) => asError(response, () => 'Bad Request'), /the body is no JSON/],
  'writes a long message': [
    (response) => asError(response, (text) => text.replace('failed.', 'x'.repeat(1000))),
    /message is no text of 1 to 1000/,
  ],
  'repeats the request in a message': [
    (response, { target }) => asError(response, (text) => text.replace('failed.', JSON.stringify(target).slice(1, -1))),
    /the error repeats a value of the request/,
  ],
  'adds a stack to the envelope': [
    (response) => asError(response, (text) => text.replace('{"error":{', '{"error":{"stack":"at","')),
    /envelope has a member stack|body is no JSON/,
  ],
  'answers without a credential': [
    (response) => (response.status === 401 ? { ...response, status: 200, body: '{}' } : response),
    /status 200 is not one of 401/,
  ],
}

it.each(Object.entries(FAULTS))('a router that %s is found out', async (name, [distort, found]) => {
  const faults = await faultsOfStatuses(seededRandom(name), 800, distort)
  expect(faults.join('\n')).toMatch(found)
})

it('a router that forgets a rejected promise is found out', async () => {
  const faults = await faultsOfStatuses(seededRandom('rejected'), 5, (response) => {
    void Promise.reject(new Error('forgotten'))
    return response
  })
  expect(faults.join('\n')).toMatch(/unhandled rejection: Error: forgotten/)
})
