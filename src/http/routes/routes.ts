/** The one table of routes: routing, the API description and the reference page come from it. */
import type { RouterOptions } from '../options.ts'
import type { Route } from '../router/route.ts'
import { auditRoute } from './audit-route.ts'
import { batchRoute } from './batch-route.ts'
import { descriptionRoutes } from './description-routes.ts'
import { fileRoutes } from './file-routes.ts'
import { operationRoutes } from './operation-routes.ts'
import { queryRoute } from './query-route.ts'
import { ANY_TABLE, recordRoutes } from './record-routes.ts'
import { ticketRoutes } from './ticket-routes.ts'
import { tokenExchangeRoute } from './token-exchange-route.ts'
import { tokenRoutes } from './token-routes.ts'
import { uploadRoutes } from './upload-routes.ts'

/** Returns every route of a handler. */
export function createRoutes(options: RouterOptions): Route[] {
  const routes: Route[] = [
    auditRoute,
    batchRoute(options),
    ...recordRoutes(options, ANY_TABLE),
    ...tokenRoutes(options),
    queryRoute(options),
    ...uploadRoutes(options),
    ...fileRoutes(options),
    ...ticketRoutes(options),
    tokenExchangeRoute,
    ...operationRoutes,
    ...legacyRecordRoutes(options),
  ]
  for (const route of descriptionRoutes(options, () => routes)) routes.push(route)
  return routes
}

function legacyRecordRoutes(options: RouterOptions): Route[] {
  return options.legacyTables.flatMap((table) =>
    recordRoutes(options, { group: 'Legacy records', path: `/v1/vaults/{vaultID}/${table}`, table }),
  )
}
