/** The examples of the routes of records. */
import type { Names } from '../names.ts'
import type { RouteExample } from '../router/route.ts'
import { EXAMPLE } from './examples.ts'

/** The routes of records. */
type RecordRoute = 'getRecords' | 'insertRecords' | 'deleteRecords' | 'getRecord' | 'updateRecord' | 'deleteRecord'

/** Returns an example for each route, of the table of examples or of a legacy table. */
export function recordExamples(
  { id: idName, ids: idsName }: Names,
  isLegacy: boolean,
): Readonly<Record<RecordRoute, RouteExample>> {
  const { id, otherID, fields, shown, tokens } = EXAMPLE
  const table = isLegacy ? {} : { params: { objectName: EXAMPLE.table } }
  const record = { params: { ...table.params, ID: id } }
  return {
    getRecords: {
      ...table,
      query: `${idsName}=${id}&redaction=PLAIN_TEXT&fields=name&fields=email`,
      response: { records: [{ fields: { [idName]: id, name: fields.name, email: fields.email } }] },
    },
    insertRecords: {
      ...table,
      body: { records: [{ fields }], upsert: 'email', tokenization: true },
      response: { records: [{ [idName]: id, tokens }] },
    },
    deleteRecords: { ...table, body: { [idsName]: [id, otherID] }, response: { RecordIDResponse: [id, otherID] } },
    getRecord: {
      ...record,
      query: 'fields=name&fields=country',
      response: { fields: { [idName]: id, name: shown.name, country: 'SE' } },
    },
    updateRecord: {
      ...record,
      body: { record: { fields: { country: 'DE' } } },
      response: { [idName]: id, ...(isLegacy ? { updatedTime: EXAMPLE.preciseTime } : {}) },
    },
    deleteRecord: { ...record, response: { [idName]: id, deleted: true } },
  }
}
