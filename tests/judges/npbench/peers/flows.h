/* Formulas of the flows in a cavity and a channel: an element's neighbours are at columns e and w of its row i. */
#define SOURCE(i, j, e, w)                                                                       \
    (rho * (1 / dt * ((u[i][e] - u[i][w]) / (2 * dx) + (v[i + 1][j] - v[i - 1][j]) / (2 * dy)) - \
            (u[i][e] - u[i][w]) / (2 * dx) * ((u[i][e] - u[i][w]) / (2 * dx)) -                  \
            2 * ((u[i + 1][j] - u[i - 1][j]) / (2 * dy) * (v[i][e] - v[i][w]) / (2 * dx)) -      \
            (v[i + 1][j] - v[i - 1][j]) / (2 * dy) * ((v[i + 1][j] - v[i - 1][j]) / (2 * dy))))
#define PRESSURE(i, j, e, w)                                                                                       \
    (((pn[i][e] + pn[i][w]) * (dy * dy) + (pn[i + 1][j] + pn[i - 1][j]) * (dx * dx)) / (2 * (dx * dx + dy * dy)) - \
     dx * dx * (dy * dy) / (2 * (dx * dx + dy * dy)) * b[i][j])
#define MOVED(x, i, j, e, w, push)                                                                                \
    (x[i][j] - un[i][j] * dt / dx * (x[i][j] - x[i][w]) - vn[i][j] * dt / dy * (x[i][j] - x[i - 1][j]) - (push) + \
     nu * (dt / (dx * dx) * (x[i][e] - 2 * x[i][j] + x[i][w]) +                                                   \
           dt / (dy * dy) * (x[i + 1][j] - 2 * x[i][j] + x[i - 1][j])))
#define PUSH_U(i, e, w) (dt / (2 * rho * dx) * (p[i][e] - p[i][w]))
#define PUSH_V(i, j) (dt / (2 * rho * dy) * (p[i + 1][j] - p[i - 1][j]))
