/** A batch as the requests of its items, so that each is checked like a request by itself. */
import type { LeakRequest } from './known-values.ts'

/** The request of one item, and its result; undefined if it failed. */
export interface ItemOfBatch {
  readonly request: LeakRequest
  readonly answer: unknown
}

/** The items of a batch; an empty list for any other request. */
export function itemsOfBatch({ method, args }: LeakRequest, answer?: unknown): ItemOfBatch[] {
  const [items] = args
  if (method !== 'batch' || !Array.isArray(items)) return []
  const responses: unknown = Reflect.get(Object(answer), 'responses')
  return items.map((item: unknown, index) => ({
    request: requestOf(Object(item)),
    answer: Array.isArray(responses) ? Reflect.get(Object(responses[index]), 'value') : undefined,
  }))
}

/** The errors in the responses of a batch. */
export function errorsOfBatch(answer: unknown): unknown[] {
  const responses: unknown = Reflect.get(Object(answer), 'responses')
  return Array.isArray(responses)
    ? responses.flatMap((response) =>
        Reflect.get(Object(response), 'ok') === false ? [Reflect.get(Object(response), 'error')] : [],
      )
    : []
}

function requestOf(item: object): LeakRequest {
  const { insert, update, get, delete: deleted, id, fields, ...options }: Readonly<Record<string, unknown>> = { ...item }
  if (insert !== undefined) return { method: 'insertOne', args: [insert, fields, options] }
  if (update !== undefined) return { method: 'updateOne', args: [update, id, fields, options] }
  return get === undefined
    ? { method: 'deleteOne', args: [deleted, id, options] }
    : { method: 'getOne', args: [get, id, options] }
}
