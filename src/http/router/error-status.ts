/** The statuses of errors. Source: specification, "Errors". */

/** The statuses of errors that the specification documents. */
export type ErrorStatus = 400 | 401 | 404 | 422 | 500

/** All of them, for requests without a route. */
export const ALL_STATUSES: readonly ErrorStatus[] = [400, 401, 404, 422, 500]
