import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.Date;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;

/** Asks as any program over JDBC would, and prints one line for each thing that it does. */
public class Client {
    public static void main(String[] arguments) throws Exception {
        Properties known = new Properties();
        known.setProperty("user", arguments[1]);
        known.setProperty("password", arguments[2]);
        known.setProperty("prepareThreshold", "1");
        try (Connection connection = DriverManager.getConnection(arguments[0], known)) {
            metadata(connection.getMetaData());
            refused(connection, "SELECT COUNT(*) FROM visits");
            run(connection, "SET dither.epsilon = '0.1'");
            questions(connection);
            portals(connection);
            refused(connection, "SELECT note FROM visits");
        }
    }

    static void metadata(DatabaseMetaData found) throws SQLException {
        print("product", found.getDatabaseProductVersion());
        print("user", found.getUserName().replaceAll("\\..*", ""));
        print("keywords", found.getSQLKeywords());
        print("identifier", String.valueOf(found.getMaxColumnNameLength()));
        rows("schemas", found.getSchemas(), 1);
        rows("catalogs", found.getCatalogs(), 1);
        rows("table types", found.getTableTypes(), 1);
        rows("tables", found.getTables(null, "public", "%", new String[] {"TABLE"}), 3);
        rows("all tables", found.getTables(null, null, "%", null), 3);
        rows("columns", found.getColumns(null, "public", "visits", "%"), 4, 5, 6);
        rows("primary keys", found.getPrimaryKeys(null, "public", "visits"), 4);
        rows("indexes", found.getIndexInfo(null, "public", "visits", false, false), 6);
        rows("imported", found.getImportedKeys(null, "public", "visits"), 3);
        rows("exported", found.getExportedKeys(null, "public", "visits"), 3);
        rows("best row", found.getBestRowIdentifier(null, "public", "visits", 1, true), 2);
        rows("versions", found.getVersionColumns(null, "public", "visits"), 2);
        rows("privileges", found.getTablePrivileges(null, "public", "visits"), 3);
        rows("functions", found.getFunctions(null, null, "%"), 3);
        rows("procedures", found.getProcedures(null, null, "%"), 3);
        rows("types", found.getUDTs(null, null, "%", null), 3);
        print("type info", String.valueOf(count(found.getTypeInfo()) > 10));
    }

    static void questions(Connection connection) throws SQLException {
        String text = "SELECT region, COUNT(*) AS n, SUM(fee) AS fees, AVG(age) AS years FROM visits "
                + "WHERE age > ? AND region <> ? AND fee >= ? AND ok = ? AND day >= ? AND at < ? GROUP BY region";
        try (PreparedStatement asked = connection.prepareStatement(text)) {
            asked.setInt(1, 20);
            asked.setString(2, "south");
            asked.setBigDecimal(3, new BigDecimal("0.50"));
            asked.setBoolean(4, true);
            asked.setDate(5, Date.valueOf("2024-01-02"));
            asked.setTimestamp(6, Timestamp.valueOf("2024-06-01 00:00:00"));
            ResultSetMetaData shape = asked.getMetaData();
            List<String> kinds = new ArrayList<>();
            for (int place = 1; place <= shape.getColumnCount(); place++) {
                kinds.add(shape.getColumnName(place) + " " + shape.getColumnTypeName(place));
            }
            print("shape", String.join(", ", kinds));
            String first = null;
            for (int again = 0; again < 3; again++) {  // from the second time on in binary
                try (ResultSet found = asked.executeQuery()) {
                    List<String> lines = new ArrayList<>();
                    while (found.next()) {
                        lines.add(found.getString(1) + " " + found.getLong(2) + " " + found.getBigDecimal(3) + " "
                                + found.getDouble(4));
                    }
                    first = first == null ? lines.toString() : first;
                    print("again " + again, lines.size() + " " + lines.toString().equals(first));
                }
            }
        }
        try (Statement statement = connection.createStatement();
                ResultSet found = statement.executeQuery("EXPLAIN SELECT COUNT(*) FROM visits")) {
            found.next();
            print("explain", found.getString(1));
        }
    }

    static void portals(Connection connection) throws SQLException {
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            statement.setFetchSize(10);
            int rows = 0;
            try (ResultSet found = statement.executeQuery("SELECT day, COUNT(*) FROM visits GROUP BY day")) {
                while (found.next()) {
                    found.getDate(1);
                    rows++;
                }
            }
            print("portal", String.valueOf(rows));
        }
        connection.rollback();
        connection.setAutoCommit(true);
    }

    static void refused(Connection connection, String text) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.executeQuery(text);
            print("refused", "not at all");
        } catch (SQLException error) {
            print("refused", error.getSQLState());
        }
    }

    static void run(Connection connection, String text) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(text);
        }
    }

    static int count(ResultSet found) throws SQLException {
        int rows = 0;
        while (found.next()) {
            rows++;
        }
        return rows;
    }

    static void rows(String what, ResultSet found, int... places) throws SQLException {
        List<String> lines = new ArrayList<>();
        while (found.next()) {
            List<String> cells = new ArrayList<>();
            for (int place : places) {
                cells.add(found.getString(place));
            }
            lines.add(String.join(" ", cells));
        }
        print(what, String.join(", ", lines));
    }

    static void print(String what, String found) {
        System.out.println(what + ": " + found);
    }
}
